import { hash } from 'node:crypto';
import { unavailable } from '@gatehouse/kit/errors';
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { createBoundedMap } from './bounded-map.ts';
import { type Caller, unauthenticated } from './caller.ts';
import { createRevocationSet, type RevocationSet } from './revocations.ts';
import { parseScope, ROLES } from './scopes.ts';

/** Gives the key that a token's header names, as jose's createLocalJWKSet() does. */
export type KeyGetter = JWTVerifyGetKey;

export type VerifierOptions = {
  issuer: string;
  /** The `aud` that tokens must carry: apiAudience() or internalAudience(). */
  audience: string;
  /** What is not accepted any more; asked for every request. */
  revocations?: RevocationSet;
  /** How many verified tokens are kept, by the hash of the token. */
  cacheSize?: number;
} & (
  | {
      /** Where the issuer's keys are, as seen from here; cached, and fetched again when a key is new or withdrawn. */
      jwksUri: string;
    }
  | {
      /** The issuer's keys where the issuer itself verifies: asked for each new token, so that they may change. */
      keys: KeyGetter;
    }
);

export type TokenVerifier = {
  /**
   * The caller an access token (RFC 9068) stands for. Throws `unauthenticated` for a token that does not
   * hold, and `unavailable` when the issuer's keys cannot be had. `admit` is called before the signature of a
   * token that is not known yet is verified; what it throws is thrown.
   */
  verify(token: string, admit?: () => Promise<void>): Promise<Caller>;
};

/** Asymmetric algorithms only: with one shared key anyone who can verify could also sign. */
const ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA'];

/** In milliseconds. */
const JWKS = {
  timeoutDuration: 3000,
  /** The keys are known long before they sign; this is for when they are not: a stranger's kid costs one fetch. */
  cooldownDuration: 1000,
  cacheMaxAge: 600_000,
};

type Verified = { caller: Caller; kid: string };

export function createTokenVerifier(options: VerifierOptions): TokenVerifier {
  const { issuer, audience, revocations = createRevocationSet(), cacheSize = 10_000 } = options;
  const keys = 'keys' in options ? options.keys : remoteKeys(options.jwksUri, revocations);
  // By hash, so that a memory dump of the cache holds no usable credential.
  const verified = createBoundedMap<Verified>(cacheSize);

  async function check(token: string): Promise<Verified> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        // RFC 9068 §4: keeps ID tokens, and whatever else the issuer signs, from serving as access tokens.
        typ: 'at+jwt',
        requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id'],
      });
      // Without a kid nobody could tell the tokens of a withdrawn key.
      if (protectedHeader.kid === undefined) throw new errors.JWTInvalid('the header must have a kid');
      return { caller: callerOf(payload), kid: protectedHeader.kid };
    } catch (error) {
      throw keysAreAway(error)
        ? unavailable('The keys to verify the access token with cannot be had just now.', error)
        : unauthenticated(reasonOf(error), 'invalid_token');
    }
  }

  return {
    async verify(token, admit) {
      const key = hash('sha256', token, 'base64');
      let known = verified.get(key);
      if (known === undefined) {
        await admit?.();
        known = await check(token);
        verified.set(key, known);
      }
      const { caller, kid } = known;
      if (caller.expiresAt <= Date.now() / 1000) {
        verified.delete(key);
        throw unauthenticated('The access token has expired.', 'invalid_token');
      }
      // A dead token stays in the cache: using it again costs no signature.
      if (revocations.isRevoked(caller, kid)) {
        throw unauthenticated('The access token has been revoked.', 'invalid_token');
      }
      return caller;
    },
  };
}

/** The keys at a URL, fetched anew after one of them was withdrawn. */
function remoteKeys(uri: string, revocations: RevocationSet): KeyGetter {
  const remote = createRemoteJWKSet(new URL(uri), JWKS);
  let withdrawn = revocations.withdrawnKeys;
  return async (header, token) => {
    if (withdrawn !== revocations.withdrawnKeys) {
      withdrawn = revocations.withdrawnKeys;
      // When it fails the keys at hand serve on: what the withdrawn one signed is dead by its kid.
      await remote.reload().catch(() => {});
    }
    return remote(header, token);
  };
}

function callerOf(claims: JWTPayload): Caller {
  const { sub, client_id: clientId, jti, iat, exp, scope, trusted, roles, gid, auth_time: authTime } = claims;
  if (
    typeof sub !== 'string' ||
    typeof clientId !== 'string' ||
    typeof jti !== 'string' ||
    typeof iat !== 'number' ||
    typeof exp !== 'number'
  ) {
    throw new errors.JWTInvalid('sub, client_id and jti must be strings, iat and exp numbers');
  }
  // What a token is revoked by must not be in a form that nothing would hit.
  if (gid !== undefined && typeof gid !== 'string') throw new errors.JWTInvalid('gid must be a string');
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
    issuedAt: iat,
    tokenId: jti,
    grantId: gid,
    keyId: undefined,
    keyThumbprint: thumbprintIn(claims.cnf),
    profiles: readProfiles(claims.profiles),
    epoch: epochIn(claims.epoch),
    authTime: typeof authTime === 'number' ? authTime : undefined,
  };
}

/** A token bound to a key in a way that is not known here must not pass for an unbound one. */
function thumbprintIn(confirmation: unknown): string | undefined {
  if (confirmation === undefined) return undefined;
  const { jkt } = Object(confirmation) as { jkt?: unknown };
  if (typeof jkt !== 'string') throw new errors.JWTInvalid('cnf must have a jkt');
  return jkt;
}

function epochIn(claim: unknown): Caller['epoch'] {
  const { client = 0, subject = 0 } = Object(claim ?? {}) as Record<string, unknown>;
  if (typeof client !== 'number' || typeof subject !== 'number') {
    throw new errors.JWTInvalid('epochs must be numbers');
  }
  return { client, subject };
}

/** The pins in a credential, as far as they are texts. */
export function readProfiles(value: unknown): Readonly<Record<string, string>> {
  const pins = Object.entries(Object(value ?? {}) as object);
  return Object.fromEntries(pins.filter(([, profile]) => typeof profile === 'string'));
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
