import { LRUCache } from 'lru-cache';

/** How exact the times are. */
const GRAIN_MS = 60_000;

/** Records when a secret or a key was used, at most once a minute for each. When `write` fails, the next use is. */
export function createLastUsedRecorder(write: (id: string, at: Date) => Promise<void>): (id: string) => void {
  const recorded = new LRUCache<string, true>({ max: 10_000, ttl: GRAIN_MS });
  return (id) => {
    if (recorded.has(id)) return;
    recorded.set(id, true);
    write(id, new Date()).catch(() => recorded.delete(id));
  };
}
