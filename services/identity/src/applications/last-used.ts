/** How exact the times are, in milliseconds. */
const GRAIN = 60_000;
const MAX_KNOWN = 10_000;

/**
 * Notes when a secret or a key was used: at most once a minute each, in nobody's way. `write` may fail: the next
 * use is noted again.
 */
export function createLastUsed(write: (id: string, at: Date) => Promise<void>): (id: string) => void {
  const noted = new Map<string, number>();
  return (id) => {
    const now = Date.now();
    if (now - (noted.get(id) ?? 0) < GRAIN) return;
    if (noted.size >= MAX_KNOWN) noted.clear();
    noted.set(id, now);
    write(id, new Date(now)).catch(() => noted.delete(id));
  };
}
