import { hash } from 'node:crypto';
import { unavailable } from '@gatehouse/kit/errors';
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { type Caller, unauthenticated } from './caller.ts';
import { parseScope, ROLES } from './scopes.ts';

export type VerifierOptions = {
  issuer: string;
  /** The `aud` that tokens must carry. */
  audience: string;
  /** Where the issuer's keys are, as seen from here; they are cached and fetched again when a key is new. */
  jwksUri: string;
  /** How many verified tokens are kept, by the hash of the token. */
  cacheSize?: number;
};

export type TokenVerifier = {
  /**
   * The caller an access token (RFC 9068) stands for. Throws `unauthenticated` for a token that does not
   * hold, and `unavailable` when the issuer's keys cannot be had.
   */
  verify(token: string): Promise<Caller>;
};

/** Asymmetric algorithms only: with one shared key anyone who can verify could also sign. */
const ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA'];

export function createTokenVerifier(options: VerifierOptions): TokenVerifier {
  const { issuer, audience, cacheSize = 10_000 } = options;
  const keys = createRemoteJWKSet(new URL(options.jwksUri), {
    timeoutDuration: 3000,
    cooldownDuration: 10_000,
  });
  // By hash, so that a memory dump of the cache holds no usable credential.
  const verified = new Map<string, Caller>();

  async function check(token: string): Promise<Caller> {
    try {
      const { payload } = await jwtVerify(token, keys as JWTVerifyGetKey, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        // RFC 9068 §4: keeps ID tokens, and whatever else the issuer signs, from serving as access tokens.
        typ: 'at+jwt',
        requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id'],
      });
      return callerOf(payload);
    } catch (error) {
      throw keysAreAway(error)
        ? unavailable('The keys to verify the access token with cannot be had just now.', error)
        : unauthenticated(reasonOf(error), 'invalid_token');
    }
  }

  return {
    async verify(token) {
      const key = hash('sha256', token, 'base64');
      const known = verified.get(key);
      if (known !== undefined) {
        if (known.expiresAt > Date.now() / 1000) return known;
        verified.delete(key);
        throw unauthenticated('The access token has expired.', 'invalid_token');
      }
      const caller = await check(token);
      if (verified.size >= cacheSize) {
        // The oldest entry: a Map iterates in the order of insertion.
        const oldest = verified.keys().next();
        if (!oldest.done) verified.delete(oldest.value);
      }
      verified.set(key, caller);
      return caller;
    },
  };
}

function callerOf(claims: JWTPayload): Caller {
  const { sub, client_id: clientId, scope, exp, trusted, roles } = claims;
  if (typeof sub !== 'string' || typeof clientId !== 'string' || typeof exp !== 'number') {
    throw new errors.JWTInvalid('sub, client_id and exp must be a string, a string and a number');
  }
  const ofMachine = sub === clientId;
  const role = Array.isArray(roles) ? ROLES.findLast((name) => roles.includes(name)) : undefined;
  // A machine without the mark stands under its owner, whom the token must then name.
  const personId = ofMachine ? claims.owner : sub;
  const person = typeof personId === 'string' ? { id: personId, role: role ?? 'user' } : undefined;
  if (ofMachine && trusted !== true && person === undefined) {
    throw new errors.JWTInvalid('a machine must be trusted or have an owner');
  }
  return {
    subject: sub,
    clientId,
    scopes: new Set(typeof scope === 'string' ? parseScope(scope) : []),
    person: ofMachine && trusted === true ? undefined : person,
    expiresAt: exp,
  };
}

/** Whether it was fetching the keys that failed; jose has no error class of its own for most of that. */
function keysAreAway(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true;
  return (
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    error.code === errors.JOSEError.code
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The access token has expired.';
  if (error instanceof errors.JWTClaimValidationFailed) {
    return `The access token's ${error.claim} is not accepted here.`;
  }
  return 'The access token is not valid.';
}
