import { hash } from 'node:crypto';
import { ServiceError } from '@gatehouse/kit/errors';
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, type JWTPayload, jwtVerify } from 'jose';
import { createBoundedMap } from './bounded-map.ts';

const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'RS256'];

/** How far a proof's `iat` may be from now, in seconds, either way. */
const TOLERANCE = 60;
const LONGEST_JTI = 256;
/** How many proofs are remembered, so that none is taken twice. */
const REMEMBERED = 100_000;

/** A request that shows a bound token. */
export type DpopRequest = {
  /** The DPoP header. */
  proof: string | undefined;
  method: string;
  /** The path below the public origin; a query is left out of account (RFC 9449 §4.2, htu). */
  path: string;
  token: string;
  /** `cnf.jkt` of the token. */
  keyThumbprint: string;
};

export type DpopVerifier = {
  /** Throws `unauthenticated`, with a DPoP challenge, unless the proof holds for the request (RFC 9449 §4.3). */
  verify(request: DpopRequest): Promise<void>;
};

/**
 * Verifies proofs of possession (RFC 9449). `publicUrl` is the origin that callers see. Which proofs were used is
 * remembered in this process: with several replicas, each takes a proof once.
 */
export function createDpopVerifier({ publicUrl }: { publicUrl: string }): DpopVerifier {
  const { origin } = new URL(publicUrl);
  const used = createBoundedMap<number>(REMEMBERED);

  /** Whether the proof is used for the first time; one that is too old to pass is not remembered any more. */
  function isFirstUse(jti: string, keyThumbprint: string, now: number): boolean {
    const key = hash('sha256', `${keyThumbprint} ${jti}`, 'base64');
    const until = used.get(key);
    if (until !== undefined && until >= now) return false;
    used.set(key, now + 2 * TOLERANCE);
    return true;
  }

  return {
    async verify({ proof, method, path, token, keyThumbprint }) {
      if (proof === undefined) throw refused('A DPoP proof is missing.');
      let payload: JWTPayload;
      let jwk: JWK | undefined;
      try {
        // EmbeddedJWK takes public keys only. Two DPoP headers arrive as one, which is no JWT.
        const result = await jwtVerify(proof, EmbeddedJWK, { typ: 'dpop+jwt', algorithms: ALGORITHMS });
        payload = result.payload;
        jwk = result.protectedHeader.jwk;
      } catch (error) {
        throw refused('The DPoP proof is not a JWT that its own key has signed.', error);
      }
      const { htm, htu, iat, ath, jti } = payload;
      const now = Date.now() / 1000;
      if (jwk === undefined || (await calculateJwkThumbprint(jwk)) !== keyThumbprint) {
        throw refused('The DPoP proof is made with another key than the access token is bound to.');
      }
      if (htm !== method) throw refused("The DPoP proof's htm is not the request's method.");
      if (typeof htu !== 'string' || normalised(htu) !== normalised(origin + path)) {
        throw refused("The DPoP proof's htu is not the request's URL.");
      }
      if (ath !== hash('sha256', token, 'base64url'))
        throw refused("The DPoP proof's ath is not the token's.");
      if (typeof iat !== 'number' || Math.abs(now - iat) > TOLERANCE) {
        throw refused(`The DPoP proof was not made within ${TOLERANCE} s of now.`);
      }
      if (typeof jti !== 'string' || jti === '' || jti.length > LONGEST_JTI) {
        throw refused(`The DPoP proof needs a jti of at most ${LONGEST_JTI} characters.`);
      }
      if (!isFirstUse(jti, keyThumbprint, now)) throw refused('The DPoP proof has been used before.');
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
