/** Counts documents, and caches slow counts for some seconds. */
export type Counts = {
  /**
   * Runs a count or returns a cached one, which includes all resolved writes of this process. The empty key stands for the count of all
   * documents. While a slow count is refreshed, the earlier one is returned, since nobody waits for the exact size of a long list. It may
   * lack minutes of writes of other processes.
   */
  count(key: string, run: () => Promise<number>): Promise<number>;
  /**
   * Wraps a write of this process that may change the number of documents; `by` returns the difference. A failed write may
   * have happened.
   */
  resize<T>(run: () => Promise<T>, by: (result: T) => number): Promise<T>;
  /** Wraps any other write of this process, which may change counts with conditions. */
  change<T>(run: () => Promise<T>): Promise<T>;
};

const ALL_DOCUMENTS = '';
/** A count that takes this long, in milliseconds, may be returned for so long after it is due for a refresh. */
const LONG_MS = 25;
const OVERDUE_MS = 300_000;

/** The number of writes that have begun, and of those that are still running. */
type Writes = { begun: number; active: number };
type Running = { promise: Promise<number>; next?: Promise<number> };

/**
 * Caches slow counts in memory, so that a popular list is not counted for each reader. Fast counts are not cached, and so
 * never out of date. `now` is in milliseconds.
 */
export function createCounts(
  options: { keepSeconds?: number; slowMs?: number; maxKeys?: number; now?: () => number } = {},
): Counts {
  const { keepSeconds = 5, slowMs = 2, maxKeys = 100, now = () => performance.now() } = options;
  const kept = new Map<string, { total: number; until: number; atMost: number }>();
  const running = new Map<string, Running>();
  const resizing: Writes = { begun: 0, active: 0 };
  const changing: Writes = { begun: 0, active: 0 };

  async function countNow(key: string, run: () => Promise<number>): Promise<number> {
    const writes = key === ALL_DOCUMENTS ? [resizing] : [resizing, changing];
    const begunBefore = sum(writes.map(({ begun }) => begun));
    const wasQuiet = sum(writes.map(({ active }) => active)) === 0;
    const begin = now();
    const total = await run();
    // It is unknown whether the count includes a concurrent write.
    const isCertain = wasQuiet && sum(writes.map(({ begun }) => begun)) === begunBefore;
    const tookMs = now() - begin;
    if (isCertain && tookMs >= slowMs) {
      if (kept.size >= maxKeys) kept.delete(kept.keys().next().value ?? '');
      const until = now() + keepSeconds * 1000;
      kept.set(key, { total, until, atMost: until + (tookMs >= LONG_MS ? OVERDUE_MS : 0) });
    }
    return total;
  }

  /** Runs one count per key at a time. Callers during a count share the next one, which includes all earlier writes. */
  function coalesced(key: string, run: () => Promise<number>): Promise<number> {
    const before = running.get(key);
    if (before !== undefined) {
      before.next ??= before.promise.then(
        () => coalesced(key, run),
        () => coalesced(key, run),
      );
      return before.next;
    }
    const promise = countNow(key, run).finally(() => running.delete(key));
    running.set(key, { promise });
    return promise;
  }

  /** Invalidates all counts after a write, except the count of all documents, which `by` adjusts. */
  async function invalidating<T>(
    writes: Writes,
    run: () => Promise<T>,
    by: (result: T) => number,
  ): Promise<T> {
    writes.begun += 1;
    writes.active += 1;
    let difference: number | undefined;
    try {
      const result = await run();
      difference = by(result);
      return result;
    } finally {
      writes.active -= 1;
      const everything = kept.get(ALL_DOCUMENTS);
      kept.clear();
      if (everything !== undefined && difference !== undefined) {
        kept.set(ALL_DOCUMENTS, { ...everything, total: everything.total + difference });
      }
    }
  }

  return {
    async count(key, run) {
      const known = kept.get(key);
      if (known !== undefined && now() < known.atMost) {
        // After a failure, the next caller counts again.
        if (now() >= known.until && !running.has(key)) coalesced(key, run).catch(() => {});
        return known.total;
      }
      kept.delete(key);
      return coalesced(key, run);
    },
    resize: (run, by) => invalidating(resizing, run, by),
    change: (run) => invalidating(changing, run, () => 0),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
