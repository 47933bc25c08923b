import { unavailable } from '@gatehouse/core/errors';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import { LRUCache } from 'lru-cache';

/** How long a user who existed is taken to exist, in milliseconds. */
const KEPT_MS = 60_000;
const MAX_KEPT = 10_000;

/** Whether users exist, by way of the internal routes of the users service, of which `internal` is a client. */
export function createUsersClient(internal: InternalClient): { exists(id: string): Promise<boolean> } {
  const known = new LRUCache<string, true>({ max: MAX_KEPT, ttl: KEPT_MS });
  return {
    async exists(id) {
      if (!/^[\w-]{1,64}$/.test(id)) return false;
      if (known.has(id)) return true;
      const { status, body } = await internal.request('GET', `/existence/${encodeURIComponent(id)}`);
      const { exists } = Object(body) as { exists?: unknown };
      if (status !== 200 || typeof exists !== 'boolean') {
        throw unavailable('The user cannot be checked at the moment.', new Error(`users answered ${status}`));
      }
      if (exists) known.set(id, true);
      return exists;
    },
  };
}
