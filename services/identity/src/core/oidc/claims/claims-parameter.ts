import { parseScope } from '@gatehouse/tokens/scopes';
import { type ClaimsParameter, type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { requireKnownAcr } from './requested-acr.ts';
import { CLAIMS_OF_SCOPES } from './standard-claims.ts';

/** Claims about the authentication, for which no scope is needed. */
const OF_AUTHENTICATION = ['sub', 'acr', 'amr', 'auth_time'];

type Container = 'userinfo' | 'id_token';
type Request = null | { essential?: boolean; value?: unknown; values?: unknown };

/**
 * Validates the claims parameter of a request (OpenID Connect Core §5.5), and leaves in it what the application's scopes
 * allow: not to return another claim is no error. Throws for an essential acr that we cannot provide (§5.5.1.1).
 */
export function checkClaimsParameter(ctx: KoaContextWithOIDC, claims: ClaimsParameter, client: Client): void {
  const allowed = new Set([...OF_AUTHENTICATION, ...claimsOfScopes(parseScope(client.scope ?? ''))]);
  const kept = (['userinfo', 'id_token'] as const)
    .filter((container) => claims[container] !== undefined)
    .map((container) => [container, keep(container, claims[container] as object, allowed)]);
  requireKnownAcr(claims);
  if (ctx.oidc.params !== undefined) ctx.oidc.params.claims = JSON.stringify(Object.fromEntries(kept));
}

function keep(
  container: Container,
  requested: object,
  allowed: ReadonlySet<string>,
): Record<string, Request> {
  const claims = Object.entries(requested) as [string, unknown][];
  for (const [, request] of claims) {
    if (request !== null && (typeof request !== 'object' || Array.isArray(request))) {
      throw new errors.InvalidRequest(`claims.${container} members must be null or objects`);
    }
  }
  return Object.fromEntries(claims.filter(([name]) => allowed.has(name))) as Record<string, Request>;
}

/** The claims that scopes of ours stand for; read:profile is profile by another name (interface.md 5). */
export function claimsOfScopes(scopes: readonly string[]): string[] {
  return Object.entries(CLAIMS_OF_SCOPES)
    .filter(([scope]) => scopes.includes(scope) || (scope === 'profile' && scopes.includes('read:profile')))
    .flatMap(([, claims]) => claims);
}

/** The scopes that stand for claims, of which people have a description. */
export function scopesOfClaims(names: readonly string[]): string[] {
  return Object.entries(CLAIMS_OF_SCOPES)
    .filter(([, claims]) => claims.some((claim) => names.includes(claim)))
    .map(([scope]) => scope);
}

/** The claims of /userinfo that the claims parameter requests, as far as the person has allowed them: the access token keeps them. */
export function requestedOfUserInfo({ oidc }: KoaContextWithOIDC): { userinfo_claims?: string[] } {
  const { AuthorizationCode, DeviceCode, RefreshToken, Grant } = oidc.entities;
  const { userinfo } = (AuthorizationCode ?? DeviceCode ?? RefreshToken)?.claims ?? oidc.claims;
  const names = Grant?.getOIDCClaimsFiltered(new Set(Object.keys(userinfo ?? {}))) ?? [];
  return names.length === 0 ? {} : { userinfo_claims: names };
}
