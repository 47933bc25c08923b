import { acrOf, isAcr } from '@gatehouse/tokens/acr';
import { ACRS, type Acr, isAsStrong } from '@gatehouse/verify/sign-in';
import type Provider from 'oidc-provider';
import { type ClaimsParameter, errors, type KoaContextWithOIDC } from 'oidc-provider';

type Request = null | { essential?: boolean; value?: unknown; values?: unknown };
type Params = Readonly<Record<string, unknown>>;

/** The acr that a request asks for: one of these, or a stronger one. */
export type RequestedAcr = {
  /** The weakest of those that it names. */
  least: Acr;
  acrs: readonly Acr[];
  /** Whether nothing is issued without (OpenID Connect Core §5.5.1.1). */
  isEssential: boolean;
};

/**
 * The acr that the parameters of a request ask for by the claim, or else by acr_values (OpenID Connect Core §3.1.2.1); undefined
 * if they name none that there is.
 */
export function requestedAcr({ claims, acr_values }: Params): RequestedAcr | undefined {
  const { id_token } = JSON.parse(String(claims ?? '{}')) as ClaimsParameter;
  const request = (id_token?.acr ?? null) as Request;
  const ofClaim = namedBy(request);
  const named = ofClaim ?? String(acr_values ?? '').split(' ');
  const acrs = ACRS.filter((acr) => named.includes(acr));
  const isEssential = ofClaim !== undefined && request?.essential === true;
  return acrs[0] && { least: acrs[0], acrs, isEssential };
}

/** Throws for an essential acr of which there is none (OpenID Connect Core Error Code unmet_authentication_requirements). */
export function requireKnownAcr({ id_token }: ClaimsParameter): void {
  const request = (id_token?.acr ?? null) as Request;
  if (request?.values !== undefined && !Array.isArray(request.values)) {
    throw new errors.InvalidRequest('claims.id_token.acr.values must be an array');
  }
  if (request?.essential !== true || namedBy(request)?.some(isAcr) !== false) return;
  throw new errors.UnmetAuthenticationRequirements(`acr must be one of: ${ACRS.join(' ')}`);
}

function namedBy(request: Request): readonly unknown[] | undefined {
  if (Array.isArray(request?.values)) return request.values;
  return request?.value === undefined ? undefined : [request.value];
}

/**
 * Answers with the acr of the sign-in: the strongest of those that the request names, if it names some that are no
 * stronger. The session does not store it, as each request may name others.
 */
export function answerRequestedAcr(provider: Provider): void {
  Object.defineProperty(provider.OIDCContext.prototype, 'acr', {
    get(this: KoaContextWithOIDC['oidc']): Acr {
      const acr = acrOf(this.amr);
      const { acrs = [] } = requestedAcr({ ...this.params }) ?? {};
      if (acrs.length === 0 || acrs.includes(acr)) return acr;
      return acrs.findLast((it) => isAsStrong(acr, it)) ?? acr;
    },
  });
}
