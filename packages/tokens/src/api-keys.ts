import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { LRUCache } from 'lru-cache';
import { parseApiKey } from './api-key.ts';
import { type Caller, unauthenticated } from './caller.ts';
import type { RevocationSet } from './revocations.ts';
import type { Role } from './scopes.ts';
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

const VALID_KEY_TTL_SECONDS = 60;
const INVALID_KEY_TTL_SECONDS = 5;

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
  const { resolve, set, cacheSize = 10_000 } = options;
  const valid = new LRUCache<string, Caller>({ max: cacheSize, ttl: VALID_KEY_TTL_SECONDS * 1000 });
  const invalid = new LRUCache<string, true>({ max: cacheSize, ttl: INVALID_KEY_TTL_SECONDS * 1000 });
  const pending = new Map<string, Promise<Caller | undefined>>();

  async function resolveAndCache(hash: string, address: string | undefined): Promise<Caller | undefined> {
    let caller: Caller | undefined;
    try {
      const resolved = await resolve(hash, address);
      caller = resolved && callerOf(resolved);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw unavailable('The API key cannot be checked at the moment.', error);
    }
    if (caller === undefined) invalid.set(hash, true);
    else valid.set(hash, caller);
    return caller;
  }

  /** Requests that come while a key is being resolved share the response. */
  function resolveOnce(hash: string, address: string | undefined): Promise<Caller | undefined> {
    let resolving = pending.get(hash);
    if (resolving === undefined) {
      resolving = resolveAndCache(hash, address).finally(() => pending.delete(hash));
      pending.set(hash, resolving);
    }
    return resolving;
  }

  /** The caller, if it is cached and still valid. */
  function cachedCaller(hash: string): Caller | undefined {
    const caller = valid.get(hash);
    if (caller === undefined || (!isExpired(caller) && !set.isRevoked(caller))) return caller;
    valid.delete(hash);
    return undefined;
  }

  return {
    async verify(key, beforeVerification, address) {
      const hash = parseApiKey(key)?.hash;
      if (hash === undefined || invalid.has(hash)) throw invalidKey();
      const cached = cachedCaller(hash);
      if (cached !== undefined) return cached;
      await beforeVerification?.();
      // The first response may have been on its way when a revocation came; a second one cannot have been.
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const caller = await resolveOnce(hash, address);
        if (caller === undefined || isExpired(caller)) break;
        if (!set.isRevoked(caller)) return caller;
      }
      throw invalidKey();
    },
  };
}

/** Also true for a time that cannot be parsed. */
function isExpired({ expiresAt }: Caller): boolean {
  return !(expiresAt > Date.now() / 1000);
}

function invalidKey(): ServiceError {
  return unauthenticated('The API key is not valid.', 'invalid_token');
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
    expiresAt: key.expires_at === null ? now + VALID_KEY_TTL_SECONDS : Date.parse(key.expires_at) / 1000,
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
