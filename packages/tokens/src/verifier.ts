import { SERVICES } from '@gatehouse/core/services';
import { createOutbound } from '@gatehouse/outbound/outbound';
import { readClaims } from '@gatehouse/verify/claims';
import { createRemoteKeys } from '@gatehouse/verify/remote-keys';
import { createRevocationSet, type RevocationSet } from '@gatehouse/verify/revocations';
import { createTokenVerifier as createVerifier, type KeyGetter } from '@gatehouse/verify/token-verifier';
import { errors, type JWTPayload } from 'jose';
import type { Caller } from './caller.ts';
import { ROLES } from './scopes.ts';
import { toServiceError } from './verification-error.ts';

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

export function createTokenVerifier(options: VerifierOptions): TokenVerifier {
  const { issuer, audience, revocations = createRevocationSet(), cacheSize } = options;
  const { keys, loadKeys, isPublished } =
    'keys' in options
      ? { keys: options.keys, loadKeys: async () => {}, isPublished: undefined }
      : remoteKeys(options.jwksUri, revocations);
  const tokens = createVerifier({
    issuer,
    audience,
    keys,
    isPublished,
    set: revocations,
    read: callerOf,
    ...(cacheSize === undefined ? {} : { cache: cacheSize }),
  });
  return {
    loadKeys,
    async verify(token, beforeVerification) {
      try {
        return await tokens.verify(token, beforeVerification);
      } catch (error) {
        throw toServiceError(error);
      }
    },
  };
}

/** The keys at a URL, fetched again after one of them was withdrawn. */
function remoteKeys(uri: string, revocations: RevocationSet) {
  const { fetch } = createOutbound({ to: 'services' });
  const remote = createRemoteKeys({ url: async () => uri, fetch });
  let withdrawn = revocations.withdrawnKeys;
  return {
    loadKeys: remote.reload,
    isPublished: remote.isPublished,
    async keys(...[header, token]: Parameters<KeyGetter>) {
      if (withdrawn !== revocations.withdrawnKeys) {
        withdrawn = revocations.withdrawnKeys;
        // If this fails, the known keys remain in use: tokens of the withdrawn key are refused by their kid.
        await remote.reload().catch(() => {});
      }
      return remote.get(header, token);
    },
  };
}

function callerOf(claims: JWTPayload): Caller {
  const { trusted, roles, given_by: givenBy, api_key: keyId, credential_id: credentialId } = claims;
  const { person, scopes, actor, ...token } = readClaims(claims);
  const isService = actor !== undefined && Object.hasOwn(SERVICES, actor);
  // Ids of another type would never match a revocation.
  if (keyId !== undefined && typeof keyId !== 'string') {
    throw new errors.JWTInvalid('api_key must be a string');
  }
  if (givenBy !== undefined && typeof givenBy !== 'string') {
    throw new errors.JWTInvalid('given_by must be a string');
  }
  // A machine that is not trusted acts under its owner, so the token must name one.
  const isTrusted = token.subject === token.clientId && trusted === true;
  if (!isTrusted && person === undefined) {
    throw new errors.JWTInvalid('a machine must be trusted or have an owner');
  }
  const role = Array.isArray(roles) ? ROLES.findLast((name) => roles.includes(name)) : undefined;
  return {
    ...token,
    actor: isService ? actor : undefined,
    ...(actor === undefined || isService ? {} : { actors: actorsIn(claims.act) }),
    scopes: new Set(scopes),
    person: isTrusted || person === undefined ? undefined : { ...person, role: role ?? 'user' },
    ...(givenBy === undefined ? {} : { givenBy }),
    keyId,
    profiles: readProfiles(claims.profiles),
    ...(typeof credentialId === 'string' ? { credentialId } : {}),
    ...(Array.isArray(claims.userinfo_claims) ? { userInfoClaims: claims.userinfo_claims.map(String) } : {}),
  };
}

/** The actors of a nested `act`, the latest first. */
function actorsIn(act: unknown): string[] {
  const actors: string[] = [];
  for (let it = act; it !== undefined; it = (it as { act?: unknown }).act) {
    const { sub } = Object(it) as { sub?: unknown };
    if (typeof sub !== 'string') throw new errors.JWTInvalid('act.sub must be a string');
    actors.push(sub);
  }
  return actors;
}

/** The pinned profiles in a credential; values that are not strings are dropped. */
export function readProfiles(value: unknown): Readonly<Record<string, string>> {
  const pins = Object.entries(Object(value ?? {}) as object);
  return Object.fromEntries(pins.filter(([, profile]) => typeof profile === 'string'));
}
