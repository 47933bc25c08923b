import { ServiceError } from '@gatehouse/core/errors';
import { createApiKeyCache } from '@gatehouse/verify/api-keys';
import type { RevocationSet } from '@gatehouse/verify/revocations';
import type { Caller } from './caller.ts';
import type { Role } from './scopes.ts';
import { toServiceError } from './verification-error.ts';
import { readProfiles } from './verifier.ts';

/** The permissions of an API key: the body of identity's response to POST /internal/identity/api-keys/resolve. */
export type ResolvedKey = {
  id: string;
  client_id: string;
  scopes: readonly string[];
  /** Of a key for a resource of others, its identifier. */
  resource?: string;
  /** Whether an admin has marked the application as trusted to act for itself. */
  trusted: boolean;
  /** The person who owns the application, and their role; null if there is none. */
  owner: string | null;
  role: Role | null;
  /** The ID of the person who made the key, if it was not the owner. */
  given_by?: string;
  profiles?: object;
  epoch: { client: number; subject?: number };
  /** An ISO 8601 time; null for a key that does not expire. */
  expires_at: string | null;
};

export type ApiKeyResolver = {
  /**
   * The caller that an API key identifies. Throws `unauthenticated` for an invalid key, and `unavailable` when the key
   * cannot be resolved. `beforeVerification` runs before a key that is not cached is resolved; its errors are passed on.
   * `address` is where the key is used.
   */
  verify(key: string, beforeVerification?: () => Promise<void>, address?: string): Promise<Caller>;
};

/** How long a key that does not expire is valid before it is resolved again. */
const KEY_TTL_SECONDS = 60;

/**
 * Resolves API keys at identity, by their hash, and caches the responses. When a revocation concerns a cached response, the key is resolved
 * again at its next use: a key survives a change of its owner's role or password, under the new epoch. The same holds for responses that
 * were on their way when the revocation came.
 */
export function createApiKeyResolver(options: {
  /** `hash`: SHA-256 of the whole key, base64url. Resolves to undefined for an unknown or invalid key. */
  resolve: (hash: string, address?: string) => Promise<ResolvedKey | undefined>;
  set: RevocationSet;
  /** The number of valid keys to cache, and of invalid ones. */
  cacheSize?: number;
}): ApiKeyResolver {
  const { resolve, set, cacheSize } = options;
  const cache = createApiKeyCache<Caller, string>({
    async resolve(_key, hash, address) {
      const resolved = await resolve(hash, address);
      return resolved && callerOf(resolved);
    },
    isOutdated: (caller) => set.isRevoked(caller),
    passesOn: (error) => error instanceof ServiceError,
    ...(cacheSize === undefined ? {} : { cache: cacheSize }),
  });
  return {
    async verify(key, beforeVerification, context) {
      try {
        return await cache.verify(key, { beforeVerification, context });
      } catch (error) {
        throw toServiceError(error);
      }
    },
  };
}

function callerOf(key: ResolvedKey): Caller | undefined {
  // Only a trusted application acts for itself.
  if (!key.trusted && key.owner === null) return undefined;
  const now = Math.floor(Date.now() / 1000);
  return {
    subject: key.client_id,
    clientId: key.client_id,
    scopes: new Set(key.scopes),
    ...(key.resource === undefined ? {} : { resource: key.resource }),
    person: key.trusted || key.owner === null ? undefined : { id: key.owner, role: key.role ?? 'user' },
    ...(key.given_by === undefined ? {} : { givenBy: key.given_by }),
    expiresAt: key.expires_at === null ? now + KEY_TTL_SECONDS : Date.parse(key.expires_at) / 1000,
    issuedAt: now,
    tokenId: undefined,
    grantId: undefined,
    keyId: key.id,
    keyThumbprint: undefined,
    profiles: readProfiles(key.profiles),
    epoch: { client: key.epoch.client, subject: key.epoch.subject ?? 0 },
    actor: undefined,
    authTime: undefined,
  };
}
