import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { createKeyedSemaphore } from '@gatehouse/core/keyed-semaphore';
import { type Caller, chargedTo } from '@gatehouse/tokens/caller';

/** Runs work whose cost depends on how much is stored, such as searches, filtered lists and sums over time. */
export type ConcurrencyLimit = {
  /**
   * Runs the work once the caller and the service have less than their limits in flight. Throws `rate_limited` when the
   * caller has too much waiting, `unavailable` when all callers together have, both with Retry-After (RFC 9110 §10.2.3).
   */
  run<T>(caller: Caller, work: () => Promise<T>): Promise<T>;
};

/** A page of the dashboard sends eight requests at a time; one caller must not take the places of all. */
const PER_CALLER = { permits: 2, maxWaitMs: 2000, maxWaiting: 20 };
const PER_SERVICE = { permits: 4, maxWaitMs: 2000 };
const MAX_WAITING = 200;
/**
 * After long work, a permit rests for this many times as long as the work took. So the database works for a caller only part of the time,
 * however many requests the caller sends. The first seconds are free, since a page of the dashboard sends many requests at once and then
 * none.
 */
const LONG_MS = 200;
const REST = { times: 4, freeMs: 2000, maxMs: 10_000 };

/**
 * Each service has its own limit. It counts all requests of one person together, whichever applications send them. A credential in somebody
 * else's application counts for the person who made it.
 */
export function createConcurrencyLimit(): ConcurrencyLimit {
  const callers = createKeyedSemaphore({
    permits: PER_CALLER.permits,
    maxWaiting: MAX_WAITING,
    maxWaitingOfKey: PER_CALLER.maxWaiting,
  });
  const service = createKeyedSemaphore({ permits: PER_SERVICE.permits, maxWaiting: MAX_WAITING });
  /** By caller, the time at which its permits have rested for all long work; the latest last. */
  const paidAt = new Map<string, number>();

  /** How long a permit rests after work that took so long, in ms. */
  function restMs(key: string, tookMs: number): number {
    if (tookMs <= LONG_MS) return 0;
    const now = performance.now();
    const unpaidMs = Math.max((paidAt.get(key) ?? 0) - now, 0) + tookMs * REST.times;
    const freeMs = REST.freeMs * REST.times;
    paidAt.delete(key);
    paidAt.set(key, now + Math.min(unpaidMs, freeMs + REST.maxMs));
    for (const [other, at] of paidAt) {
      if (at > now) break;
      paidAt.delete(other);
    }
    return Math.min(Math.max(unpaidMs - freeMs, 0), REST.maxMs);
  }

  return {
    async run(caller, work) {
      const key = `${caller.actor ?? ''} ${chargedTo(caller)}`;
      if (!(await callers.acquire(key, PER_CALLER.maxWaitMs))) {
        const message = `At most ${PER_CALLER.permits} searches or filtered lists run at a time for you: try again in 1 s.`;
        throw new ServiceError('rate_limited', message, { headers: { 'retry-after': '1' } });
      }
      let rest = 0;
      try {
        if (!(await service.acquire('', PER_SERVICE.maxWaitMs))) {
          throw unavailable('Too many searches and filtered lists are running: try again in 1 s.');
        }
        const begin = performance.now();
        try {
          return await work();
        } finally {
          service.release('');
          rest = restMs(key, performance.now() - begin);
        }
      } finally {
        if (rest === 0) callers.release(key);
        else setTimeout(callers.release, rest, key).unref();
      }
    },
  };
}
