import { ServiceError } from '@gatehouse/kit/errors';

/** Bounds how often something may fail for each key within a window. */
export type Attempts = {
  /** Counts an attempt; throws `rate_limited` (RFC 9110 §10.2.3: with Retry-After) when there were too many. */
  count(key: string): void;
  /** The attempt that was counted has not failed. */
  takeBack(key: string): void;
};

/** How many keys are kept; beyond that the one whose window began first is forgotten. */
const MAX_KEYS = 10_000;

/**
 * At most `max` failures in `seconds`, in this process's memory.
 *
 * Not by rate-limiter-flexible: it counts attempts that are refused, keeps any number of keys, and what is taken back
 * after its window has ended allows one failure more in the next.
 */
export function createAttempts({ max, seconds }: { max: number; seconds: number }): Attempts {
  // In the order in which the windows began, which is that in which they end.
  const windows = new Map<string, { failed: number; ends: number }>();

  function windowOf(key: string): { failed: number; ends: number } {
    const now = performance.now();
    for (const [old, { ends }] of windows) {
      if (ends > now && windows.size < MAX_KEYS) break;
      windows.delete(old);
    }
    const window = windows.get(key) ?? { failed: 0, ends: now + seconds * 1000 };
    windows.set(key, window);
    return window;
  }

  return {
    count(key) {
      const window = windowOf(key);
      if (window.failed >= max) {
        const retryAfter = Math.max(1, Math.ceil((window.ends - performance.now()) / 1000));
        throw new ServiceError('rate_limited', `Too many wrong passwords: try again in ${retryAfter} s.`, {
          headers: { 'retry-after': String(retryAfter) },
        });
      }
      window.failed += 1;
    },
    takeBack(key) {
      const window = windows.get(key);
      if (window === undefined || window.failed === 0) return;
      window.failed -= 1;
      if (window.failed === 0) windows.delete(key);
    },
  };
}
