import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { CompactSign, calculateJwkThumbprint, importJWK, type JWK } from 'jose';

export type Json = Record<string, unknown>;
export type Vector = {
  name: string;
  options: {
    audience: string;
    hasCredentials: boolean;
    stale?: { then: 'introspect' | 'refuse' | 'accept' };
    origins?: string[];
  };
  clock: number;
  feed: { state: 'fresh' | 'silent' | 'none'; revocations: Json[] };
  introspection?: Record<string, Json | null>;
  request: { method: string; url: string; headers: Record<string, string | string[]> };
  needs: { scopes?: string[]; acr?: string; maxAge?: number };
  repeat?: boolean;
  expected: Json;
};

export const ISSUER = 'https://id.example.com';
export const AUDIENCE = 'https://api.example.com/notes';
export const CLOCK = 1_790_000_000;
export const ALGS = 'ES256 ES384 ES512 Ed25519 EdDSA PS256 RS256';

/** The private keys of the issuer by kid, of a stranger, and of clients by algorithm: for vectors alone. */
const KEYS: { issuer: JWK[]; stranger: JWK; clients: Record<string, JWK> } = JSON.parse(
  readFileSync(new URL('./keys.json', import.meta.url), 'utf8'),
);
export const STRANGER = KEYS.stranger;
export const publicPart = ({ kty, crv, x, y, n, e, kid, alg }: JWK): JWK =>
  JSON.parse(JSON.stringify({ kty, crv, x, y, n, e, kid, alg }));
export const JWKS = { keys: KEYS.issuer.map((key) => ({ ...publicPart(key), use: 'sig' })) };

export function issuerKey(kid = 'es'): JWK {
  const key = KEYS.issuer.find((it) => it.kid === kid);
  if (key === undefined) throw new Error(`no key ${kid}`);
  return key;
}

export function clientKey(alg = 'ES256'): JWK {
  const key = KEYS.clients[alg];
  if (key === undefined) throw new Error(`no key for ${alg}`);
  return key;
}

export const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

export async function signRaw(payload: unknown, header: Json, key: JWK): Promise<string> {
  const defined = JSON.parse(JSON.stringify(header));
  return new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader(defined)
    .sign(await importJWK(key, String(defined.alg)), { crit: { x: false } });
}

export const CLAIMS: Json = {
  iss: ISSUER,
  aud: AUDIENCE,
  sub: 'usr_1',
  client_id: 'cli_1',
  iat: CLOCK - 60,
  exp: CLOCK + 3600,
  jti: 'jti_1',
  scope: 'notes:read notes:write',
};

/** An access token with these claims changed; undefined takes one away. */
export function token(change: Json = {}, header: Json = {}, key = issuerKey()): Promise<string> {
  return signRaw({ ...CLAIMS, ...change }, { alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header }, key);
}

export const thumbprint = (alg = 'ES256') => calculateJwkThumbprint(publicPart(clientKey(alg)));
export const athOf = (value: string) => createHash('sha256').update(value).digest('base64url');

export async function proof(
  of: { token: string; method?: string; url?: string },
  change: Json = {},
  header: Json = {},
  key = clientKey(),
): Promise<string> {
  const claims = {
    jti: 'proof-1',
    htm: of.method ?? 'GET',
    htu: of.url ?? 'https://api.example.com/notes/7',
    iat: CLOCK,
    ath: athOf(of.token),
    ...change,
  };
  const { kid: _kid, alg: _alg, ...jwk } = publicPart(key);
  return signRaw(claims, { typ: 'dpop+jwt', alg: key.alg, jwk, ...header }, key);
}

export function hmacToken(secret: string | Buffer, header: Json, claims: unknown = CLAIMS): string {
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** An API key whose 54 characters after the prefix repeat this text. */
export function apiKey(text: string): string {
  const body = `gatehouse_${text.repeat(54).slice(0, 54)}`;
  let checksum = '';
  for (let rest = crc32(body); checksum.length < 6; rest = Math.floor(rest / 62)) {
    checksum = ALPHABET[rest % 62] + checksum;
  }
  return body + checksum;
}
