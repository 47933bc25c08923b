import { hash } from 'node:crypto';
import { ServiceError } from '@gatehouse/core/errors';
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';

const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'RS256'];

/** How far `iat` may lie in the past or in the future. */
const TOLERANCE_SECONDS = 60;
const MAX_JTI_LENGTH = 256;

/** A request made with a token that is bound to a key. */
export type DpopRequest = {
  /** The DPoP header. */
  proof: string | undefined;
  method: string;
  /** The path below the public origin; its query is ignored (RFC 9449 §4.2, htu). */
  path: string;
  token: string;
  /** `cnf.jkt` of the token. */
  keyThumbprint: string;
};

export type DpopVerifier = {
  /** Throws `unauthenticated`, with a DPoP challenge, unless the proof is valid for the request (RFC 9449 §4.3). */
  verify(request: DpopRequest): Promise<void>;
};

/**
 * Verifies proofs of possession (RFC 9449). Used proofs are remembered in this process: with several replicas, each
 * accepts a proof once.
 */
export function createDpopVerifier(options: {
  /** The origin that callers see. */
  publicUrl: string;
  /** The number of used proofs to remember. */
  cacheSize?: number;
}): DpopVerifier {
  const { publicUrl, cacheSize = 100_000 } = options;
  const { origin } = new URL(publicUrl);
  let used: LRUCache<string, true> | undefined;

  function isFirstUse(jti: string, keyThumbprint: string): boolean {
    // Created on first use, since it reserves 4 MB. It goes by the wall clock, as `iat` does: with another, setting the
    // wall clock back would make a used proof acceptable again.
    used ??= new LRUCache({ max: cacheSize, ttl: 2 * TOLERANCE_SECONDS * 1000, perf: Date });
    const key = hash('sha256', `${keyThumbprint} ${jti}`, 'base64');
    // Unlike get(), has() does not count as a use: a full cache drops the oldest proof, replayed or not.
    if (used.has(key)) return false;
    used.set(key, true);
    return true;
  }

  return {
    async verify({ proof, method, path, token, keyThumbprint }) {
      if (proof === undefined) throw refused('A DPoP proof is missing.');
      let payload: JWTPayload;
      let jwk: JWK | undefined;
      try {
        // EmbeddedJWK accepts public keys only. Two DPoP headers arrive joined, which is not a JWT.
        const result = await jwtVerify(proof, EmbeddedJWK, { typ: 'dpop+jwt', algorithms: ALGORITHMS });
        payload = result.payload;
        jwk = result.protectedHeader.jwk;
      } catch (error) {
        throw refused('The DPoP proof is not a JWT signed with its own key.', error);
      }
      const { htm, htu, iat, ath, jti } = payload;
      const now = Date.now() / 1000;
      if (jwk === undefined || (await calculateJwkThumbprint(jwk)) !== keyThumbprint) {
        throw refused('The DPoP proof was not made with the key that the access token is bound to.');
      }
      if (htm !== method) throw refused("The DPoP proof's htm is not the request's method.");
      if (typeof htu !== 'string' || normalised(htu) !== normalised(origin + path)) {
        throw refused("The DPoP proof's htu is not the request's URL.");
      }
      if (ath !== hash('sha256', token, 'base64url'))
        throw refused("The DPoP proof's ath is not the token's.");
      if (typeof iat !== 'number' || Math.abs(now - iat) > TOLERANCE_SECONDS) {
        throw refused(`The DPoP proof was not made within ${TOLERANCE_SECONDS} s of now.`);
      }
      if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH) {
        throw refused(`The DPoP proof needs a jti of at most ${MAX_JTI_LENGTH} characters.`);
      }
      if (!isFirstUse(jti, keyThumbprint)) throw refused('The DPoP proof has been used before.');
    },
  };
}

/** An `unauthenticated` error with a DPoP challenge (RFC 9449 §7.1). */
export function dpopUnauthenticated(
  message: string,
  error: 'invalid_token' | 'invalid_dpop_proof',
  cause?: unknown,
): ServiceError {
  const challenge = `DPoP realm="gatehouse", error="${error}", algs="${ALGORITHMS.join(' ')}"`;
  return new ServiceError('unauthenticated', message, { headers: { 'www-authenticate': challenge }, cause });
}

function refused(message: string, cause?: unknown): ServiceError {
  return dpopUnauthenticated(message, 'invalid_dpop_proof', cause);
}

/** The URL without query and fragment, normalised by syntax and scheme (RFC 3986 §6.2.2 and §6.2.3). */
function normalised(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, username, password, host, pathname } = new URL(url);
  if (username !== '' || password !== '') return undefined;
  const path = pathname.replace(/%[0-9a-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escaped.toUpperCase();
  });
  return `${protocol}//${host}${path}`;
}
