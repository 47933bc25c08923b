import { ServiceError } from '@gatehouse/kit/errors';

/** Limits how often something may fail for each key within a window. */
export type FailureLimiter = {
  /** Counts an attempt as a failure; throws `rate_limited` with Retry-After (RFC 9110 §10.2.3) beyond the maximum. */
  consume(key: string): void;
  /** Uncounts an attempt that did not fail. */
  refund(key: string): void;
  /** Uncounts all failures: they are over with a success. */
  forget(key: string): void;
};

/** The number of keys kept; beyond it, the key with the oldest window is dropped. */
const MAX_KEYS = 10_000;

/**
 * At most `max` failures in `seconds`, in this process's memory.
 *
 * rate-limiter-flexible does not fit: it counts rejected attempts too, its number of keys is unbounded, and a refund
 * after the end of a window allows an extra failure in the next one.
 */
export function createFailureLimiter({ max, seconds }: { max: number; seconds: number }): FailureLimiter {
  // In the order in which the windows began and so will end.
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
    consume(key) {
      const window = windowOf(key);
      if (window.failed >= max) {
        const retryAfter = Math.max(1, Math.ceil((window.ends - performance.now()) / 1000));
        throw new ServiceError('rate_limited', `Too many failures: try again in ${retryAfter} s.`, {
          headers: { 'retry-after': String(retryAfter) },
        });
      }
      window.failed += 1;
    },
    refund(key) {
      const window = windows.get(key);
      if (window === undefined || window.failed === 0) return;
      window.failed -= 1;
      if (window.failed === 0) windows.delete(key);
    },
    forget: (key) => void windows.delete(key),
  };
}
