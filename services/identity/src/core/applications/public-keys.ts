import { createPublicKey, hash, type JsonWebKey } from 'node:crypto';
import { linkProblem } from '@gatehouse/core/web-uris';
import { calculateJwkThumbprint, decodeProtectedHeader } from 'jose';
import { type PublicKey, type PublicKeySet, publicKeysId } from './application.ts';

const MAX_PUBLIC_KEYS = 5;
const MAX_FETCHED_KEYS = 50;
const MIN_RSA_BITS = 2048;
/** The private members of RFC 7518 §6 and RFC 8037 §2. */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
const KEPT = ['kty', 'crv', 'x', 'y', 'n', 'e', 'kid', 'alg', 'use'] as const;
/** The algorithms with which assertions may be signed, by key type or curve. */
const ALGORITHMS: Record<string, readonly string[]> = {
  RSA: ['RS256', 'PS256'],
  'P-256': ['ES256'],
  Ed25519: ['Ed25519', 'EdDSA'],
};

/**
 * The ids of an application's public keys among its credentials: one for each key, by its thumbprint (RFC 7638), and the last for
 * all of them together.
 */
export async function publicKeyIds(clientId: string, { keys }: PublicKeySet): Promise<string[]> {
  const thumbprints = await Promise.all(keys.map((key) => calculateJwkThumbprint(key)));
  const together = hash('sha256', thumbprints.toSorted().join(), 'base64url');
  return [...thumbprints, together].map((it) => `${publicKeysId(clientId)}/${it}`);
}

/** The id of the key that has signed a verified assertion; that of all keys together when it names none, or several that share a name. */
export async function signingKeyId(
  clientId: string,
  jwks: PublicKeySet,
  assertion: string,
): Promise<string | undefined> {
  const { kid } = decodeProtectedHeader(assertion);
  const named = jwks.keys.filter((key) => kid !== undefined && key.kid === kid);
  const [key, ...others] = jwks.keys.length === 1 ? jwks.keys : named;
  const isSure = key !== undefined && others.length === 0;
  return (await publicKeyIds(clientId, jwks)).at(isSure ? jwks.keys.indexOf(key) : -1);
}

/** The public keys in a JWK set (RFC 7517 §5), without unknown members; or what is wrong with it. */
export function readPublicKeys(value: unknown): PublicKeySet | { problem: string } {
  const { keys } = Object(value) as { keys?: unknown };
  if (!Array.isArray(keys)) return { problem: 'must be a JWK set: {"keys": […]}' };
  if (keys.length < 1 || keys.length > MAX_PUBLIC_KEYS) {
    return { problem: `must have from 1 to ${MAX_PUBLIC_KEYS} keys` };
  }
  const read: PublicKey[] = [];
  for (const key of keys as unknown[]) {
    const result = readPublicKey(Object(key) as Record<string, unknown>);
    if ('problem' in result) return result;
    read.push(result);
  }
  const ids = read.map(({ kid }) => kid);
  if (read.length > 1 && (ids.includes(undefined) || new Set(ids).size < ids.length)) {
    return { problem: 'must have a different kid for each key' };
  }
  return { keys: read };
}

/** The public keys at a URL (RFC 7591 §2, jwks_uri), which are fetched when they are needed; or what is wrong with the URL. */
export function readPublicKeysUri(uri: string): PublicKeySet | { problem: string } {
  const problem = linkProblem(uri);
  return problem === undefined ? { keys: [], uri } : { problem };
}

/** The keys of a fetched JWK set with which assertions may be signed. Others are ignored (RFC 7517 §5). */
export function usablePublicKeys(jwks: unknown): PublicKey[] {
  const { keys } = Object(jwks) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new TypeError('the response is no JWK set');
  return keys.slice(0, MAX_FETCHED_KEYS).flatMap((key) => {
    const read = readPublicKey(Object(key) as Record<string, unknown>);
    return 'problem' in read ? [] : [read];
  });
}

function readPublicKey(key: Record<string, unknown>): PublicKey | { problem: string } {
  if (PRIVATE.some((name) => name in key)) {
    return { problem: 'must contain public keys only; consider the private key that you sent compromised' };
  }
  const kept = Object.fromEntries(
    KEPT.filter((name) => key[name] !== undefined).map((name) => [name, key[name]]),
  );
  if (!Object.values(kept).every((member) => typeof member === 'string' && member.length <= 2000)) {
    return { problem: 'has a key with a member that is not a string' };
  }
  const { kty, crv, alg, use } = kept as PublicKey;
  const algorithms = ALGORITHMS[(kty === 'RSA' ? kty : crv) ?? ''];
  if (algorithms === undefined) return { problem: 'must have RSA, P-256 or Ed25519 keys' };
  if (alg !== undefined && !algorithms.includes(alg)) {
    return { problem: `has a key whose alg is not ${algorithms.join(' or ')}` };
  }
  if (use !== undefined && use !== 'sig') return { problem: 'must have keys for signing' };
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: kept as JsonWebKey, format: 'jwk' });
    const bits = asymmetricKeyDetails?.modulusLength;
    if (bits !== undefined && bits < MIN_RSA_BITS) {
      return { problem: `must have RSA keys of ${MIN_RSA_BITS} bits or more` };
    }
  } catch {
    return { problem: 'has a key that is not valid' };
  }
  return kept as PublicKey;
}
