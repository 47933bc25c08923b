import { randomUUID } from 'node:crypto';
import { importJWK, type JWK, SignJWT } from 'jose';

export type TokenDraft = {
  subject: string;
  clientId: string;
  audience: string;
  scope: string;
  /** In seconds. */
  lifetime: number;
  /** In addition to those that every access token has. */
  claims?: Record<string, unknown>;
};

export type SignedToken = { token: string; jti: string };

/** Signs an access token of RFC 9068 outside a grant: for a login at the API, and for calls between services. */
export type TokenSigner = (draft: TokenDraft) => Promise<SignedToken>;

/** Signs with one of our private keys. */
export async function createTokenSigner(issuer: string, key: JWK): Promise<TokenSigner> {
  const { alg, kid } = key;
  if (alg === undefined || kid === undefined) throw new Error('a signing key must have an alg and a kid');
  const privateKey = await importJWK(key, alg);
  return async ({ subject, clientId, audience, scope, lifetime, claims = {} }) => {
    const jti = randomUUID();
    const token = await new SignJWT({ ...claims, client_id: clientId, scope })
      .setProtectedHeader({ alg, kid, typ: 'at+jwt' })
      .setIssuer(issuer)
      .setSubject(subject)
      .setAudience(audience)
      .setJti(jti)
      .setIssuedAt()
      .setExpirationTime(`${lifetime}s`)
      .sign(privateKey);
    return { token, jti };
  };
}
