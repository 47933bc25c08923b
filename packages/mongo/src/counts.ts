/** Counts that are exact, and kept for some seconds when they are slow. */
export type Counts = {
  /**
   * What `run` counts, now or some seconds ago, but not before a write of this process that has resolved. The empty
   * key means that everything is counted.
   */
  count(key: string, run: () => Promise<number>): Promise<number>;
  /**
   * Wraps each write of this process that may change how many there are; `by` says how many its result adds. A write
   * that fails may have happened.
   */
  resize<T>(run: () => Promise<T>, by: (result: T) => number): Promise<T>;
  /** Wraps every other write of this process, which changes what is counted under conditions. */
  change<T>(run: () => Promise<T>): Promise<T>;
};

const EVERYTHING = '';

/** How many writes have begun, and how many of them are under way. */
type Writes = { begun: number; underWay: number };
type Running = { promise: Promise<number>; next?: Promise<number> };

/**
 * Keeps slow counts in memory, so that a popular list is not counted for each of its readers. A quick count is never
 * kept, and so never out of date. `now` is in milliseconds.
 */
export function createCounts(
  options: { keepSeconds?: number; slowMs?: number; maxKeys?: number; now?: () => number } = {},
): Counts {
  const { keepSeconds = 5, slowMs = 2, maxKeys = 100, now = () => performance.now() } = options;
  const kept = new Map<string, { total: number; until: number }>();
  const running = new Map<string, Running>();
  const resizing: Writes = { begun: 0, underWay: 0 };
  const changing: Writes = { begun: 0, underWay: 0 };

  async function countNow(key: string, run: () => Promise<number>): Promise<number> {
    const writes = key === EVERYTHING ? [resizing] : [resizing, changing];
    const begunBefore = sum(writes.map(({ begun }) => begun));
    const wasQuiet = sum(writes.map(({ underWay }) => underWay)) === 0;
    const begin = now();
    const total = await run();
    // Nobody knows whether a write that happened meanwhile has been counted.
    const isCertain = wasQuiet && sum(writes.map(({ begun }) => begun)) === begunBefore;
    if (isCertain && now() - begin >= slowMs) {
      if (kept.size >= maxKeys) kept.delete(kept.keys().next().value ?? '');
      kept.set(key, { total, until: now() + keepSeconds * 1000 });
    }
    return total;
  }

  /** One at a time: all who ask while one runs share the next one, which sees everything written before. */
  function inTurn(key: string, run: () => Promise<number>): Promise<number> {
    const before = running.get(key);
    if (before !== undefined) {
      before.next ??= before.promise.then(
        () => inTurn(key, run),
        () => inTurn(key, run),
      );
      return before.next;
    }
    const promise = countNow(key, run).finally(() => running.delete(key));
    running.set(key, { promise });
    return promise;
  }

  /** Forgets what the write may have changed, which is all but the count of everything: `by` corrects that one. */
  async function around<T>(writes: Writes, run: () => Promise<T>, by: (result: T) => number): Promise<T> {
    writes.begun += 1;
    writes.underWay += 1;
    let difference: number | undefined;
    try {
      const result = await run();
      difference = by(result);
      return result;
    } finally {
      writes.underWay -= 1;
      const everything = kept.get(EVERYTHING);
      kept.clear();
      if (everything !== undefined && difference !== undefined) {
        kept.set(EVERYTHING, { ...everything, total: everything.total + difference });
      }
    }
  }

  return {
    async count(key, run) {
      const known = kept.get(key);
      if (known !== undefined && now() < known.until) return known.total;
      kept.delete(key);
      return inTurn(key, run);
    },
    resize: (run, by) => around(resizing, run, by),
    change: (run) => around(changing, run, () => 0),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
