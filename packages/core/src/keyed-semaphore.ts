/** Limits how many run at once for each key; the others wait, first come, first served. */
export type KeyedSemaphore = {
  /** Resolves with true once a permit is held; with false when too many are waiting, or after `maxWaitMs`. */
  acquire(key: string, maxWaitMs: number): Promise<boolean>;
  /** Returns a permit that was acquired. */
  release(key: string): void;
};

type Queue = { held: number; waiting: Set<() => void> };

/**
 * `permits` for each key; `maxWaiting` for all keys together, so that waiting cannot use up memory, and `maxWaitingOfKey` for
 * each, where one key must not leave the others no place.
 */
export function createKeyedSemaphore(options: {
  permits: number;
  maxWaiting: number;
  maxWaitingOfKey?: number;
}): KeyedSemaphore {
  const { permits, maxWaiting, maxWaitingOfKey = maxWaiting } = options;
  const queues = new Map<string, Queue>();
  let waiting = 0;

  return {
    acquire(key, maxWaitMs) {
      const queue = queues.get(key) ?? { held: 0, waiting: new Set() };
      if (queue.held < permits) {
        queue.held += 1;
        queues.set(key, queue);
        return Promise.resolve(true);
      }
      if (waiting >= maxWaiting || queue.waiting.size >= maxWaitingOfKey) return Promise.resolve(false);
      return new Promise((resolve) => {
        const settle = (acquired: boolean) => {
          clearTimeout(timer);
          queue.waiting.delete(grant);
          waiting -= 1;
          resolve(acquired);
        };
        const grant = () => settle(true);
        const timer = setTimeout(settle, maxWaitMs, false);
        queue.waiting.add(grant);
        waiting += 1;
      });
    },
    release(key) {
      const queue = queues.get(key);
      if (queue === undefined) return;
      const [next] = queue.waiting;
      // The permit passes to the next in line, so that a newcomer cannot take it.
      if (next !== undefined) return next();
      queue.held -= 1;
      if (queue.held === 0) queues.delete(key);
    },
  };
}
