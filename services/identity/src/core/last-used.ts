import { LRUCache } from 'lru-cache';

/** How exact the times are. */
const GRAIN_MS = 60_000;

/**
 * Records when a secret, a key or a login was used and from where, at most once a minute for each. When `write` fails, the
 * next use is.
 */
export function createLastUsedRecorder(
  write: (id: string, use: { at: Date; address: string | null }) => Promise<void>,
): (id: string, address?: string) => void {
  const recorded = new LRUCache<string, true>({ max: 10_000, ttl: GRAIN_MS });
  return (id, address) => {
    if (recorded.has(id)) return;
    recorded.set(id, true);
    write(id, { at: new Date(), address: address ?? null }).catch(() => recorded.delete(id));
  };
}
