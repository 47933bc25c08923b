import type { RequestListener } from 'node:http';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import type { createRevocationSet } from '@gatehouse/verify/revocations';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose';
import type { Test } from 'tap';
import { listen } from './servers.ts';

export const ISSUER = 'https://id.example.com';
export const AUDIENCE = `${ISSUER}/api`;
export const NOW = Math.floor(Date.now() / 1000);
export const HOUR = 3600;

export type Claims = Record<string, unknown>;
export type Key = { kid: string; alg: string; privateKey: CryptoKey; publicKey: CryptoKey };

export const CLAIMS: Claims = {
  iss: ISSUER,
  aud: AUDIENCE,
  sub: 'usr_1',
  client_id: 'cli_1',
  iat: NOW - 10,
  exp: NOW + HOUR,
  jti: 'jti_1',
  scope: 'openid read:users',
  roles: ['editor'],
};

export async function makeKey(kid: string, alg = 'ES256'): Promise<Key> {
  return { kid, alg, ...(await generateKeyPair(alg, { extractable: true })) };
}

export const ours = await makeKey('ours');
export const foreign = await makeKey('foreign');

/** A token of the claims changed so (undefined takes one away); by default as the issuer signs it. */
export async function sign(change: Claims = {}, key: Key = ours, header: Partial<JWTHeaderParameters> = {}) {
  const claims = JSON.parse(JSON.stringify({ ...CLAIMS, ...change }));
  return new SignJWT(claims)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
    .sign(key.privateKey, { crit: { x: false } });
}

export const UNAUTHENTICATED = { name: 'ServiceError', kind: 'unauthenticated' };
/** An issuer's keys, over HTTP; what it serves can be changed. */
async function publish(t: Test, keys: Key[]) {
  const published = {
    uri: '',
    keys,
    fetches: 0,
    response: (async (_request, response) => {
      const all = published.keys.map(async ({ kid, alg, publicKey }) => {
        return { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
      });
      response.setHeader('content-type', 'application/jwk-set+json');
      response.end(JSON.stringify({ keys: await Promise.all(all) }));
    }) as RequestListener,
  };
  const origin = await listen(t, (request, response) => {
    published.fetches += 1;
    published.response(request, response);
  });
  published.uri = `${origin}/jwks`;
  return published;
}

type Options = { revocations?: ReturnType<typeof createRevocationSet>; cacheSize?: number; jwksUri?: string };

export async function setUp(t: Test, options: Options = {}, keys: Key[] = [ours]) {
  const published = await publish(t, keys);
  const verifier = createTokenVerifier({
    issuer: ISSUER,
    audience: AUDIENCE,
    jwksUri: published.uri,
    ...options,
  });
  return { verifier, published };
}
