/**
 * A function whose calls are carried out together: those that come while `run` is busy wait, and are the next batch, of `max`
 * at most. So one batch runs at a time, and the first call of all never waits. All calls of a batch end as its run does.
 */
export function inBatches<T>(run: (items: T[]) => Promise<void>, max: number): (item: T) => Promise<void> {
  const waiting: { item: T; ended: PromiseWithResolvers<void> }[] = [];
  let isRunning = false;

  async function runAll(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, max);
      try {
        await run(batch.map(({ item }) => item));
        for (const { ended } of batch) ended.resolve();
      } catch (error) {
        for (const { ended } of batch) ended.reject(error);
      }
    }
    isRunning = false;
  }

  return (item) => {
    const ended = Promise.withResolvers<void>();
    waiting.push({ item, ended });
    if (!isRunning) void runAll();
    return ended.promise;
  };
}
