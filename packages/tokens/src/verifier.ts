import { hash } from 'node:crypto';
import { unavailable } from '@gatehouse/core/errors';
import { createOutbound } from '@gatehouse/outbound/outbound';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import { LRUCache } from 'lru-cache';
import { type Caller, unauthenticated } from './caller.ts';
import { createRevocationSet, type RevocationSet } from './revocations.ts';
import { parseScope, ROLES } from './scopes.ts';

/** Returns the key named in a token's header, as jose's createLocalJWKSet() does. */
export type KeyGetter = JWTVerifyGetKey;

export type VerifierOptions = {
  issuer: string;
  /** The required `aud`: apiAudience() or internalAudience(). */
  audience: string;
  /** Consulted for every request. */
  revocations?: RevocationSet;
  /** The number of verified tokens to cache. */
  cacheSize?: number;
} & (
  | {
      /** The URL of the issuer's keys; they are cached, and fetched again when a key is new or withdrawn. */
      jwksUri: string;
    }
  | {
      /** For the issuer itself: called for each token that is not cached, so the keys may change. */
      keys: KeyGetter;
    }
);

export type TokenVerifier = {
  /**
   * The caller that an access token (RFC 9068) identifies. Throws `unauthenticated` for an invalid token, and
   * `unavailable` when the issuer's keys cannot be fetched. `beforeVerification` runs before the signature of a token
   * that is not cached is verified; its errors are passed on.
   */
  verify(token: string, beforeVerification?: () => Promise<void>): Promise<Caller>;
  /** Fetches the keys at `jwksUri`, so that the first token waits for nobody. Rejects when they cannot be fetched. */
  loadKeys(): Promise<void>;
};

/** Asymmetric algorithms only: with a shared key, every verifier could also sign. */
const ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA'];

/** Durations in milliseconds. */
const JWKS_OPTIONS = {
  timeoutDuration: 3000,
  /** The keys are published long before they sign, so this limits the fetches that an unknown kid can cause. */
  cooldownDuration: 1000,
  cacheMaxAge: 600_000,
  [customFetch]: createOutbound({ to: 'services' }).fetch,
};

type Verified = { caller: Caller; kid: string };

export function createTokenVerifier(options: VerifierOptions): TokenVerifier {
  const { issuer, audience, revocations = createRevocationSet(), cacheSize = 10_000 } = options;
  const { keys, loadKeys } =
    'keys' in options
      ? { keys: options.keys, loadKeys: async () => {} }
      : remoteKeys(options.jwksUri, revocations);
  // Keyed by hash, so that a memory dump of the cache holds no usable credential.
  const verified = new LRUCache<string, Verified>({ max: cacheSize });

  async function check(token: string): Promise<Verified> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        // RFC 9068 §4: keeps ID tokens, and everything else the issuer signs, from passing for access tokens.
        typ: 'at+jwt',
        requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id'],
      });
      // Without a kid, the tokens of a withdrawn key could not be recognized.
      if (protectedHeader.kid === undefined) throw new errors.JWTInvalid('the header must have a kid');
      return { caller: callerOf(payload), kid: protectedHeader.kid };
    } catch (error) {
      throw isKeyFetchError(error)
        ? unavailable('The keys for verifying access tokens cannot be fetched at the moment.', error)
        : unauthenticated(reasonOf(error), 'invalid_token');
    }
  }

  return {
    loadKeys,
    async verify(token, beforeVerification) {
      const key = hash('sha256', token, 'base64');
      let cached = verified.get(key);
      if (cached === undefined) {
        await beforeVerification?.();
        cached = await check(token);
        verified.set(key, cached);
      }
      const { caller, kid } = cached;
      if (caller.expiresAt <= Date.now() / 1000) {
        verified.delete(key);
        throw unauthenticated('The access token has expired.', 'invalid_token');
      }
      // A revoked token stays in the cache, so that using it again costs no signature check.
      if (revocations.isRevoked(caller, kid)) {
        throw unauthenticated('The access token has been revoked.', 'invalid_token');
      }
      return caller;
    },
  };
}

/** The keys at a URL, fetched again after one of them was withdrawn. */
function remoteKeys(uri: string, revocations: RevocationSet): { keys: KeyGetter; loadKeys(): Promise<void> } {
  const remote = createRemoteJWKSet(new URL(uri), JWKS_OPTIONS);
  let withdrawn = revocations.withdrawnKeys;
  return {
    loadKeys: remote.reload,
    async keys(header, token) {
      if (withdrawn !== revocations.withdrawnKeys) {
        withdrawn = revocations.withdrawnKeys;
        // If this fails, the known keys remain in use: tokens of the withdrawn key are refused by their kid.
        await remote.reload().catch(() => {});
      }
      return remote(header, token);
    },
  };
}

function callerOf(claims: JWTPayload): Caller {
  const {
    sub,
    client_id: clientId,
    jti,
    iat,
    exp,
    scope,
    trusted,
    roles,
    given_by: givenBy,
    gid,
    api_key: keyId,
    credential_id: credentialId,
    auth_time: authTime,
    acr,
  } = claims;
  if (
    typeof sub !== 'string' ||
    typeof clientId !== 'string' ||
    typeof jti !== 'string' ||
    typeof iat !== 'number' ||
    typeof exp !== 'number'
  ) {
    throw new errors.JWTInvalid('sub, client_id and jti must be strings, iat and exp numbers');
  }
  // Ids of another type would never match a revocation.
  if (gid !== undefined && typeof gid !== 'string') throw new errors.JWTInvalid('gid must be a string');
  if (keyId !== undefined && typeof keyId !== 'string') {
    throw new errors.JWTInvalid('api_key must be a string');
  }
  if (givenBy !== undefined && typeof givenBy !== 'string') {
    throw new errors.JWTInvalid('given_by must be a string');
  }
  const isMachine = sub === clientId;
  const role = Array.isArray(roles) ? ROLES.findLast((name) => roles.includes(name)) : undefined;
  // A machine that is not trusted acts under its owner, so the token must name one.
  const personId = isMachine ? claims.owner : sub;
  const person = typeof personId === 'string' ? { id: personId, role: role ?? 'user' } : undefined;
  if (isMachine && trusted !== true && person === undefined) {
    throw new errors.JWTInvalid('a machine must be trusted or have an owner');
  }
  return {
    subject: sub,
    clientId,
    scopes: new Set(typeof scope === 'string' ? parseScope(scope) : []),
    person: isMachine && trusted === true ? undefined : person,
    ...(givenBy === undefined ? {} : { givenBy }),
    expiresAt: exp,
    issuedAt: iat,
    tokenId: jti,
    grantId: gid,
    keyId,
    actor: actorIn(claims.act),
    keyThumbprint: thumbprintIn(claims.cnf),
    profiles: readProfiles(claims.profiles),
    epoch: epochIn(claims.epoch),
    authTime: typeof authTime === 'number' ? authTime : undefined,
    ...(typeof credentialId === 'string' ? { credentialId } : {}),
    ...(typeof acr === 'string' ? { acr } : {}),
    ...(Array.isArray(claims.userinfo_claims) ? { userInfoClaims: claims.userinfo_claims.map(String) } : {}),
  };
}

/** A token that is bound to a key in an unknown way must not pass for an unbound one. */
function thumbprintIn(confirmation: unknown): string | undefined {
  if (confirmation === undefined) return undefined;
  const { jkt } = Object(confirmation) as { jkt?: unknown };
  if (typeof jkt !== 'string') throw new errors.JWTInvalid('cnf must have a jkt');
  return jkt;
}

function actorIn(claim: unknown): string | undefined {
  if (claim === undefined) return undefined;
  const { sub } = Object(claim) as { sub?: unknown };
  if (typeof sub !== 'string') throw new errors.JWTInvalid('act must have a sub');
  return sub;
}

function epochIn(claim: unknown): Caller['epoch'] {
  const { client = 0, subject = 0 } = Object(claim ?? {}) as Record<string, unknown>;
  if (typeof client !== 'number' || typeof subject !== 'number') {
    throw new errors.JWTInvalid('epochs must be numbers');
  }
  return { client, subject };
}

/** The pinned profiles in a credential; values that are not strings are dropped. */
export function readProfiles(value: unknown): Readonly<Record<string, string>> {
  const pins = Object.entries(Object(value ?? {}) as object);
  return Object.fromEntries(pins.filter(([, profile]) => typeof profile === 'string'));
}

/** jose has no error class of its own for most failures to fetch the keys. */
function isKeyFetchError(error: unknown): boolean {
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
