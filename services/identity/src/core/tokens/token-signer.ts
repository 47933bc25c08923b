import { randomUUID } from 'node:crypto';
import { type CryptoKey, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import type { SigningAlgorithm } from './signing-algorithms.ts';

export type TokenDraft = {
  subject: string;
  clientId: string;
  audience: string;
  scope: string;
  /** In seconds. */
  lifetime: number;
  /** By default, that of the setting. */
  algorithm?: SigningAlgorithm;
  /** By default, that of an access token. */
  type?: 'oauth-id-jag+jwt';
  /** In addition to those that every access token has. */
  claims?: Record<string, unknown>;
};

/** Signs the claims of a Security Event Token (RFC 8417). */
export type EventSigner = (claims: JWTPayload) => Promise<string>;

export type SignedToken = { token: string; jti: string };

/** Signs an access token of RFC 9068 outside a grant, such as for a login at the API and for calls between services, or an ID-JAG. */
export type TokenSigner = (draft: TokenDraft) => Promise<SignedToken>;

/** Signs with one of our private keys. */
export async function createTokenSigner(issuer: string, key: JWK): Promise<TokenSigner> {
  const { alg, kid, privateKey } = await importKey(key);
  return async ({ subject, clientId, audience, scope, lifetime, claims = {}, type = 'at+jwt' }) => {
    const jti = randomUUID();
    const token = await new SignJWT({ ...claims, client_id: clientId, scope })
      .setProtectedHeader({ alg, kid, typ: type })
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

/** Signs with one of our private keys. The explicit type keeps a SET from being taken for another token (§2.3). */
export async function createEventSigner(issuer: string, key: JWK): Promise<EventSigner> {
  const { alg, kid, privateKey } = await importKey(key);
  return (claims) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg, kid, typ: 'secevent+jwt' })
      .setIssuer(issuer)
      .sign(privateKey);
}

async function importKey(
  key: JWK,
): Promise<{ alg: string; kid: string; privateKey: CryptoKey | Uint8Array }> {
  const { alg, kid } = key;
  if (alg === undefined || kid === undefined) throw new Error('a signing key must have an alg and a kid');
  return { alg, kid, privateKey: await importJWK(key, alg) };
}
