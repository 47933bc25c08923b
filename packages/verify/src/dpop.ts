import { hash } from 'node:crypto';
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, type JWTPayload, jwtVerify } from 'jose';
import type { Credential } from './authorization.ts';
import { createBoundedMap } from './bounded-map.ts';
import { temporarilyUnavailable, VerifyError } from './errors.ts';

export const DPOP_ALGORITHMS = ['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'RS256'];

/** How far `iat` may lie in the past or in the future. */
const TOLERANCE_SECONDS = 60;
const MAX_JTI_LENGTH = 256;

/** The scheme and parameters of a challenge for a token that is bound to a key. */
export const DPOP_CHALLENGE = { scheme: 'DPoP', parameters: { algs: DPOP_ALGORITHMS.join(' ') } } as const;

/** A request made with an access token. */
export type ProvenRequest = {
  /** The scheme of the Authorization header. */
  scheme: Credential['scheme'];
  token: string;
  /** `cnf.jkt` of the token; undefined if it is not bound to a key. */
  keyThumbprint: string | undefined;
  /** The DPoP header. */
  proof: string | undefined;
  method: string;
  /** The absolute URLs that the proof may be for; their queries are ignored (RFC 9449 §4.2, htu). */
  urls: () => readonly string[];
};

/** Where used proofs are remembered; one that replicas share sees to it that each proof is accepted once by all of them. */
export type ReplayStore = {
  /** Whether this is the first use of the key within this time. */
  use(key: string, ttlSeconds: number): boolean | Promise<boolean>;
};

export type ProofVerifier = {
  /**
   * Throws unless a token that is bound to a key comes with a valid proof of it (RFC 9449 §4.3), by the scheme DPoP, and another
   * token by Bearer.
   */
  verify(request: ProvenRequest): Promise<void>;
};

/** Verifies proofs of possession (RFC 9449). */
export function createProofVerifier(
  options: { replayStore?: ReplayStore | undefined; now?: () => number } = {},
): ProofVerifier {
  const { now = () => Date.now() / 1000, replayStore = createReplayStore({ now }) } = options;

  async function isFirstUse(jti: string, keyThumbprint: string): Promise<boolean> {
    const key = hash('sha256', `${keyThumbprint} ${jti}`, 'base64');
    try {
      return await replayStore.use(key, 2 * TOLERANCE_SECONDS);
    } catch (error) {
      throw temporarilyUnavailable('The DPoP proof cannot be checked at the moment.', error);
    }
  }

  return {
    async verify({ scheme, token, keyThumbprint, proof, method, urls }) {
      if (keyThumbprint === undefined) {
        if (scheme !== 'dpop') return;
        throw dpopError(INVALID_TOKEN, 'The access token is not bound to a key: send it as Bearer.');
      }
      // RFC 9449 §7.2: otherwise a stolen token could be used without its key.
      if (scheme !== 'dpop') {
        throw dpopError(INVALID_TOKEN, 'The access token is bound to a key: send it as DPoP, with a proof.');
      }
      if (proof === undefined) throw refused('A DPoP proof is missing.');
      let payload: JWTPayload;
      let jwk: JWK | undefined;
      try {
        // EmbeddedJWK accepts public keys only. Two DPoP headers arrive joined, which is not a JWT.
        const result = await jwtVerify(proof, EmbeddedJWK, {
          typ: 'dpop+jwt',
          algorithms: DPOP_ALGORITHMS,
          currentDate: new Date(now() * 1000),
        });
        payload = result.payload;
        jwk = result.protectedHeader.jwk;
      } catch (error) {
        throw refused('The DPoP proof is not a JWT signed with its own key.', error);
      }
      const { htm, htu, iat, ath, jti } = payload;
      if (jwk === undefined || (await calculateJwkThumbprint(jwk)) !== keyThumbprint) {
        throw refused('The DPoP proof was not made with the key that the access token is bound to.');
      }
      if (htm !== method) throw refused("The DPoP proof's htm is not the request's method.");
      if (typeof htu !== 'string' || !urls().some((url) => isSameUrl(htu, url))) {
        throw refused("The DPoP proof's htu is not the request's URL.");
      }
      if (ath !== hash('sha256', token, 'base64url'))
        throw refused("The DPoP proof's ath is not the token's.");
      if (typeof iat !== 'number' || Math.abs(now() - iat) > TOLERANCE_SECONDS) {
        throw refused(`The DPoP proof was not made within ${TOLERANCE_SECONDS} s of now.`);
      }
      if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH) {
        throw refused(`The DPoP proof needs a jti of at most ${MAX_JTI_LENGTH} characters.`);
      }
      if (!(await isFirstUse(jti, keyThumbprint))) throw refused('The DPoP proof has been used before.');
    },
  };
}

const INVALID_TOKEN = 'invalid_token';

/** An error with a DPoP challenge (RFC 9449 §7.1). */
export function dpopError(error: string, description: string, cause?: unknown): VerifyError {
  return new VerifyError(401, error, description, { ...DPOP_CHALLENGE, cause });
}

function refused(description: string, cause?: unknown): VerifyError {
  return dpopError('invalid_dpop_proof', description, cause);
}

/** Remembers the proofs that this process has accepted, by the wall clock, as `iat` goes by it. */
export function createReplayStore(options: { max?: number; now?: () => number } = {}): ReplayStore {
  const { max = 100_000, ...clock } = options;
  const used = createBoundedMap<true>({ max, ttlSeconds: 2 * TOLERANCE_SECONDS + 1, ...clock });
  return {
    use(key) {
      // A replay does not count as a use: a full store drops the oldest proof, replayed or not.
      if (used.peek(key) !== undefined) return false;
      used.set(key, true);
      return true;
    },
  };
}

function isSameUrl(a: string, b: string): boolean {
  const url = normalised(a);
  return url !== undefined && url === normalised(b);
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
