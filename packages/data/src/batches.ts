import { setImmediate } from 'node:timers/promises';
import { isInDryRun } from '@gatehouse/core/dry-run';

/**
 * Returns a function that handles an item together with other items of the same time: while a batch is under way, the next one gathers.
 * With `isParallel` no batch waits for another: each has the items of one turn of the event loop.
 *
 * `run` handles a batch, and resolves to a result for each item in its order; when it rejects, all of them have failed.
 */
export function createBatches<T, R>(options: {
  max: number;
  run(items: readonly T[]): Promise<readonly R[]>;
  isParallel?: boolean;
}): (item: T) => Promise<R> {
  const { max, run, isParallel = false } = options;
  let gathered: { item: T; resolve(result: R): void; reject(error: unknown): void }[] = [];
  let isRunning = false;

  async function runAll(): Promise<void> {
    isRunning = true;
    // All items added in this turn of the event loop are in the first batch.
    await (isParallel ? setImmediate() : undefined);
    while (gathered.length > 0) {
      const batch = gathered.slice(0, max);
      gathered = gathered.slice(max);
      const settled = settle(batch);
      if (!isParallel) await settled;
    }
    isRunning = false;
  }

  async function settle(batch: typeof gathered): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item));
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as R);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return async (item) => {
    // By itself: with the others, it would be written with them, or end them.
    if (isInDryRun()) return (await run([item]))[0] as R;
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    gathered.push({ item, resolve, reject });
    if (!isRunning) void runAll();
    return promise;
  };
}
