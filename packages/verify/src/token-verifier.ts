import { hash } from 'node:crypto';
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { createBoundedMap } from './bounded-map.ts';
import { dpopError } from './dpop.ts';
import { invalidToken, temporarilyUnavailable, type VerifyError } from './errors.ts';
import type { Revocable, RevocationSet } from './revocations.ts';

/** Returns the key named in a token's header, as jose's createLocalJWKSet() does. */
export type KeyGetter = JWTVerifyGetKey;

/** Asymmetric algorithms only: with a shared key, every verifier could also sign. */
const ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA'];

export type TokenVerifier<Token> = {
  /**
   * Verifies an access token (RFC 9068 §4). `beforeVerification` runs before the signature of a token that is not cached is verified; its
   * errors are passed on.
   */
  verify(token: string, beforeVerification?: () => Promise<void>): Promise<Token>;
};

/** Remembers the tokens that it has verified. Expiry and revocation are checked each time. */
export function createTokenVerifier<
  Token extends Revocable & { expiresAt: number; keyThumbprint: string | undefined },
>(options: {
  issuer: string;
  audience: string;
  keys: KeyGetter;
  /** Whether the issuer still publishes a key; cached tokens of another are verified again. */
  isPublished?: ((kid: string) => boolean) | undefined;
  set: RevocationSet;
  /** Reads the claims of a token whose signature is good, once. */
  read(claims: JWTPayload): Token;
  /** The number of verified tokens to cache. */
  cache?: number;
  clockSkew?: number;
  /** The time in seconds since the epoch. */
  now?: () => number;
}): TokenVerifier<Token> {
  const { issuer, audience, keys, isPublished = () => true, set, read } = options;
  const { clockSkew = 0, now = () => Date.now() / 1000 } = options;
  // Keyed by hash, so that a memory dump of the cache holds no usable credential.
  const verified = createBoundedMap<{ token: Token; kid: string }>({ max: options.cache ?? 10_000 });

  async function check(token: string): Promise<{ token: Token; kid: string }> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        // RFC 9068 §4: keeps ID tokens, and everything else the issuer signs, from passing for access tokens.
        typ: 'at+jwt',
        requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id'],
        clockTolerance: clockSkew,
        currentDate: new Date(now() * 1000),
      });
      // Without a kid, the tokens of a withdrawn key could not be recognized.
      if (protectedHeader.kid === undefined) throw new errors.JWTInvalid('the header must have a kid');
      return { token: read(payload), kid: protectedHeader.kid };
    } catch (error) {
      throw isKeyFetchError(error)
        ? temporarilyUnavailable(
            'The keys for verifying access tokens cannot be fetched at the moment.',
            error,
          )
        : invalidToken(reasonOf(error), error);
    }
  }

  return {
    async verify(token, beforeVerification) {
      const key = hash('sha256', token, 'base64');
      let known = verified.get(key);
      if (known === undefined || !isPublished(known.kid)) {
        await beforeVerification?.();
        known = await check(token);
        verified.set(key, known);
      }
      if (known.token.expiresAt + clockSkew <= now()) {
        verified.delete(key);
        throw invalidToken('The access token has expired.');
      }
      // A revoked token stays in the cache, so that using it again costs no signature check.
      if (set.isRevoked(known.token, known.kid)) throw revoked(known.token);
      return known.token;
    },
  };
}

function revoked({ keyThumbprint }: { keyThumbprint: string | undefined }): VerifyError {
  const description = 'The access token has been revoked.';
  return keyThumbprint === undefined ? invalidToken(description) : dpopError('invalid_token', description);
}

/** Errors of jose are about the token, except for a key set that is malformed. */
function isKeyFetchError(error: unknown): boolean {
  return !(error instanceof errors.JOSEError) || error instanceof errors.JWKSInvalid;
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The access token has expired.';
  if (error instanceof errors.JWTClaimValidationFailed) {
    return `The access token's ${error.claim} is not accepted here.`;
  }
  return 'The access token is not valid.';
}
