import type { Logger } from '@gatehouse/kit/logger';
import type { Connection } from 'mongoose';

export type Sweeper = { start(): void; stop(): Promise<void> };

/** How many documents one step removes: small, so that a sweep never holds up other writes for long. */
const BATCH = 500;

/**
 * Removes documents whose `expires_at` has passed. TTL indexes would do it on a full MongoDB, but not on
 * every engine we run on. Readers must check `expires_at` themselves: a sweep comes up to `everySeconds`
 * late. Each collection needs an index on `expires_at`.
 */
export function createSweeper(
  connection: Connection,
  collections: readonly string[],
  options: { logger: Logger; everySeconds?: number },
): Sweeper {
  const { logger, everySeconds = 20 } = options;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let stopped = false;

  async function sweep(): Promise<void> {
    for (const name of collections) {
      // One collection that cannot be swept must not keep the others from it.
      await sweepOne(name).catch((error: unknown) =>
        logger.warn({ err: error, collection: name }, 'a sweep failed; the next one goes on'),
      );
    }
  }

  async function sweepOne(name: string): Promise<void> {
    const collection = connection.collection(name);
    for (let full = true; full && !stopped; ) {
      const due = { expires_at: { $lte: new Date() } };
      const expired = await collection.find(due, { projection: { _id: 1 }, limit: BATCH }).toArray();
      // What was renewed since the look is not due any more.
      if (expired.length > 0) {
        await collection.deleteMany({ ...due, _id: { $in: expired.map(({ _id }) => _id) } });
      }
      full = expired.length === BATCH;
    }
  }

  function schedule(): void {
    timer = setTimeout(() => {
      running = sweep().finally(() => {
        if (!stopped) schedule();
      });
    }, everySeconds * 1000);
    timer.unref();
  }

  return {
    start: schedule,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
