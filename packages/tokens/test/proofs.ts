import { hash } from 'node:crypto';
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

/** A client's key for DPoP. */
export type ProofKey = { alg: string; privateKey: CryptoKey; jwk: JWK; thumbprint: string };

export async function makeProofKey(alg = 'ES256'): Promise<ProofKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return { alg, privateKey, jwk, thumbprint: await calculateJwkThumbprint(jwk) };
}

/** A proof as a client makes it (RFC 9449 §4.2), with these claims and header parameters changed. */
export async function makeProof(
  key: ProofKey,
  request: { method: string; url: string; token: string },
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  const all = {
    jti: crypto.randomUUID(),
    htm: request.method,
    htu: request.url,
    iat: Math.floor(Date.now() / 1000),
    ath: hash('sha256', request.token, 'base64url'),
    ...claims,
  };
  return new SignJWT(JSON.parse(JSON.stringify(all)))
    .setProtectedHeader(
      JSON.parse(JSON.stringify({ typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk, ...header })),
    )
    .sign(key.privateKey);
}
