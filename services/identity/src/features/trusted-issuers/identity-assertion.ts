import type { JWTPayload } from 'jose';
import type { OidcStore } from '../../core/oidc/adapter/oidc-adapter.ts';
import { invalidGrant } from '../../core/oidc/invalid-grant.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';
import type { TrustedIssuers } from './trusted-issuers.ts';
import {
  SKEW,
  TokenProblem,
  unverifiedClaims,
  unverifiedHeader,
  verifyIssuedToken,
} from './workload-token.ts';

/** The header of an ID-JAG (draft-ietf-oauth-identity-assertion-authz-grant §3.1). */
const TYPE = /^(?:application\/)?oauth-id-jag\+jwt$/i;

/** The statement of a trusted issuer that a client may act for a person here. */
export type IdentityAssertion = {
  issuer: TrustedIssuer;
  subject: string;
  /** The API that it is for; undefined for that of the request, or ours. */
  resource: string | undefined;
  /** The most scopes that it gives; undefined for no bound. */
  scope: string | undefined;
  /** The thumbprint of the key that it is bound to (§8.6.1.2). */
  jkt: string | undefined;
};

/**
 * Returns a function that verifies an Identity Assertion JWT Authorization Grant for a client (draft-ietf-oauth-identity-assertion-authz-grant
 * §4.4.1, RFC 7523 §3). It works once. Throws `invalid_grant`.
 */
export function createIdentityAssertions(options: {
  /** Our own. */
  issuer: string;
  issuers: Pick<TrustedIssuers, 'find'>;
  keys: IssuerKeys;
  useOnce: OidcStore['useOnce'];
}): (assertion: string, clientId: string) => Promise<IdentityAssertion> {
  const { issuers, keys, useOnce } = options;

  async function issuerOf({ iss = '' }: JWTPayload, clientId: string): Promise<TrustedIssuer> {
    const issuer = await issuers.find(iss);
    const speaksForPeople = issuer?.enabled === true && issuer.kinds.includes('enterprise');
    if (issuer === undefined || !speaksForPeople)
      throw refused('its issuer is not trusted to speak for people');
    if (issuer.applications?.includes(clientId) === false)
      throw refused('its issuer does not speak for this client');
    return issuer;
  }

  return async (assertion, clientId) => {
    if (!TYPE.test(unverifiedHeader(assertion)?.typ ?? ''))
      throw refused('it is no JWT of the type oauth-id-jag+jwt');
    const issuer = await issuerOf(unverifiedClaims(assertion) ?? {}, clientId);
    const claims = await verifyIssuedToken(assertion, issuer, keys).catch((error: unknown) => {
      throw error instanceof TokenProblem ? refused(`it ${error.message}`) : error;
    });
    const { sub, aud, jti, resource, scope, client_id: client, exp, cnf } = claims;
    const [audience, ...others] = [aud].flat();
    if (audience !== options.issuer || others.length > 0) throw refused('its audience is not this issuer');
    if (client !== clientId) throw refused('it is for another client');
    if (!isText(sub) || !isText(jti)) throw refused('it has no sub or no jti');
    if (!isTextIfAny(resource) || !isTextIfAny(scope)) throw refused('its resource or scope is no string');
    const { jkt } = (cnf ?? {}) as { jkt?: unknown };
    if (!isTextIfAny(jkt) || (jkt === undefined) !== (cnf === undefined))
      throw refused('it is bound to something other than the key of a DPoP proof');
    const isFirst = await useOnce(`id-jag ${issuer.issuer} ${jti}`, new Date((exp + SKEW) * 1000));
    if (!isFirst) throw refused('it has already been used');
    return { issuer, subject: sub, resource, scope, jkt };
  };
}

const refused = (reason: string) => invalidGrant(`the assertion is not accepted: ${reason}`);
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isTextIfAny = (value: unknown): value is string | undefined => value === undefined || isText(value);
