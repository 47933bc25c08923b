/** The requests of a key in its current window. */
export type RateWindow = { count: number /** In milliseconds, as of Date.now(). */; endsAt: number };

export type RateLimitStore = {
  /** Counts a request in the key's window, or in a new one of `seconds` when it has ended. */
  count(key: string, seconds: number): RateWindow | Promise<RateWindow>;
  /** The key's window, unless it has ended. */
  find(key: string): RateWindow | undefined | Promise<RateWindow | undefined>;
  /** Takes back one request from the key's window, unless that has ended. */
  refund(key: string): unknown;
  /** Ends the key's window. */
  forget(key: string): unknown;
};

/**
 * The number of keys kept for each limit, about 10 MB. Beyond it the oldest window is forgotten, and its key begins a new one. A caller
 * with more addresses than this could use each of them anyway.
 */
const MAX_KEYS = 50_000;

/** Counts in this process's memory, for one limit: all of its windows must be equally long. */
export function createRateLimitMemory(): Omit<RateLimitStore, 'find'> & {
  find(key: string): RateWindow | undefined;
  /** Takes over a window that began elsewhere. */
  keep(key: string, window: RateWindow): void;
} {
  // In the order in which they began, and so will end.
  const windows = new Map<string, RateWindow>();

  function keep(key: string, window: RateWindow): void {
    windows.delete(key);
    const now = Date.now();
    for (const [oldest, { endsAt }] of windows) {
      if (endsAt > now && windows.size < MAX_KEYS) break;
      windows.delete(oldest);
    }
    windows.set(key, window);
  }

  function find(key: string): RateWindow | undefined {
    const window = windows.get(key);
    return window !== undefined && window.endsAt > Date.now() ? window : undefined;
  }

  return {
    count(key, seconds) {
      const window = find(key);
      if (window !== undefined) {
        window.count += 1;
        return { ...window };
      }
      const begun = { count: 1, endsAt: Date.now() + seconds * 1000 };
      keep(key, begun);
      return { ...begun };
    },
    find,
    keep,
    refund(key) {
      const window = find(key);
      if (window !== undefined && window.count > 0) window.count -= 1;
    },
    forget: (key) => void windows.delete(key),
  };
}
