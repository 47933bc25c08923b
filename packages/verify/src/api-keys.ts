import { parseApiKey } from './api-key.ts';
import { createBoundedMap } from './bounded-map.ts';
import { invalidToken, temporarilyUnavailable, type VerifyError } from './errors.ts';

const VALID_KEY_TTL_SECONDS = 60;
const INVALID_KEY_TTL_SECONDS = 5;

export type ApiKeyCache<Resolved, Context> = {
  /**
   * Resolves an API key. `beforeVerification` runs before a key that is not cached is resolved; its errors are passed on.
   */
  verify(
    key: string,
    options?: {
      beforeVerification?: (() => Promise<void>) | undefined;
      context?: Context | undefined;
      refresh?: boolean;
    },
  ): Promise<Resolved>;
};

/**
 * Resolves API keys and caches the responses by the hashes of the keys. When a revocation concerns a cached response, the key is resolved
 * again at its next use. The same holds for responses that were on their way when the revocation came.
 */
export function createApiKeyCache<Resolved extends { expiresAt: number }, Context = undefined>(options: {
  /** Resolves to undefined for an unknown or invalid key. `hash`: SHA-256 of the whole key, base64url. */
  resolve(key: string, hash: string, context: Context | undefined): Promise<Resolved | undefined>;
  /** Whether an error of resolve() is thrown as it is; others mean that the key cannot be checked. */
  passesOn?(error: unknown): boolean;
  /** Whether something was revoked that a response may not know of yet. */
  isOutdated(resolved: Resolved): boolean;
  /** The number of valid keys to cache, and of invalid ones. */
  cache?: number;
  now?: () => number;
}): ApiKeyCache<Resolved, Context> {
  const {
    resolve,
    isOutdated,
    passesOn = () => false,
    cache: max = 10_000,
    now = () => Date.now() / 1000,
  } = options;
  const valid = createBoundedMap<Resolved>({ max, ttlSeconds: VALID_KEY_TTL_SECONDS, now });
  const invalid = createBoundedMap<true>({ max, ttlSeconds: INVALID_KEY_TTL_SECONDS, now });
  const pending = new Map<string, Promise<Resolved | undefined>>();
  // Also true for a time that cannot be parsed.
  const isExpired = ({ expiresAt }: Resolved) => !(expiresAt > now());

  async function resolveAndCache(
    key: string,
    hash: string,
    context?: Context,
  ): Promise<Resolved | undefined> {
    try {
      const resolved = await resolve(key, hash, context);
      if (resolved === undefined) invalid.set(hash, true);
      else valid.set(hash, resolved);
      return resolved;
    } catch (error) {
      if (passesOn(error)) throw error;
      throw temporarilyUnavailable('The API key cannot be checked at the moment.', error);
    }
  }

  /** Requests that come while a key is being resolved share the response. */
  function resolveOnce(key: string, hash: string, context?: Context): Promise<Resolved | undefined> {
    let resolving = pending.get(hash);
    if (resolving === undefined) {
      resolving = resolveAndCache(key, hash, context).finally(() => pending.delete(hash));
      pending.set(hash, resolving);
    }
    return resolving;
  }

  return {
    async verify(key, { beforeVerification, context, refresh = false } = {}) {
      const hash = parseApiKey(key)?.hash;
      if (hash === undefined || invalid.peek(hash) !== undefined) throw invalidKey();
      const cached = refresh ? undefined : valid.get(hash);
      if (cached !== undefined && !isExpired(cached) && !isOutdated(cached)) return cached;
      valid.delete(hash);
      await beforeVerification?.();
      // The first response may have been on its way when a revocation came; a second one cannot have been.
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const resolved = await resolveOnce(key, hash, context);
        if (resolved === undefined || isExpired(resolved)) break;
        if (!isOutdated(resolved)) return resolved;
      }
      throw invalidKey();
    },
  };
}

function invalidKey(): VerifyError {
  return invalidToken('The API key is not valid.');
}
