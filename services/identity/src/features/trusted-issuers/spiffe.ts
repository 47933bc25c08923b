import type { JWTPayload } from 'jose';

/** The type of an assertion that is a JWT-SVID (draft-ietf-oauth-spiffe-client-auth §3.1). */
export const JWT_SPIFFE = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe';

/** Whether a text is the SPIFFE ID of a trust domain (SPIFFE-ID §2), which is the issuer of its JWT-SVIDs. */
export const isTrustDomain = (text: string): boolean => /^spiffe:\/\/[a-z0-9._-]{1,255}$/.test(text);

/** The SPIFFE ID of the trust domain of a JWT-SVID: of its subject, since `iss` is optional (JWT-SVID §3). Undefined for another token. */
export function trustDomainOf({ sub }: Pick<JWTPayload, 'sub'>): string | undefined {
  const [domain = ''] = /^spiffe:\/\/[^/]+(?=\/.)/.exec(String(sub)) ?? [];
  return isTrustDomain(domain) ? domain : undefined;
}

/** A JWK set in which the JWT keys of a SPIFFE bundle are for signatures, without the X.509 keys (SPIFFE Trust Domain and Bundle §4.2.2). */
export function withoutSvidUses(jwks: object): object {
  const { keys } = jwks as { keys?: unknown };
  if (!Array.isArray(keys)) return jwks;
  const others = keys.filter((key) => Object(key).use !== 'x509-svid');
  return {
    ...jwks,
    keys: others.map((key) => (Object(key).use === 'jwt-svid' ? { ...Object(key), use: 'sig' } : key)),
  };
}
