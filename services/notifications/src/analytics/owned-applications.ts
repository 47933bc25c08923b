import { unavailable } from '@gatehouse/core/errors';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import { LRUCache } from 'lru-cache';

/** How long a response holds, in milliseconds. */
const KEPT_MS = 10_000;
const MAX_KEPT = 10_000;

/** Which applications a person owns, by way of the internal routes of identity, of which `identity` is a client. */
export function createOwnedApplications(
  identity: InternalClient,
): (userId: string) => Promise<readonly string[]> {
  const known = new LRUCache<string, readonly string[]>({ max: MAX_KEPT, ttl: KEPT_MS });
  return async (userId) => {
    const found = known.get(userId);
    if (found !== undefined) return found;
    const { status, body } = await identity.request(
      'GET',
      `/owned-applications/${encodeURIComponent(userId)}`,
    );
    const { client_ids: ids } = Object(body) as { client_ids?: unknown };
    if (status !== 200 || !Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) {
      const cause = new Error(`identity answered ${status}`);
      throw unavailable('Your applications cannot be listed at the moment.', cause);
    }
    known.set(userId, ids);
    return ids;
  };
}
