import type { Logger } from '@gatehouse/kit/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/kit/periodic';
import type { Connection } from 'mongoose';

/** How many documents one step removes: few, so that a sweep never holds up other writes for long. */
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
): PeriodicTask {
  const { logger, everySeconds = 20 } = options;
  const warn = (error: unknown, collection?: string) =>
    logger.warn({ err: error, collection }, 'a sweep failed; the next one goes on');

  async function sweep(name: string, signal: AbortSignal): Promise<void> {
    const collection = connection.collection(name);
    for (let full = true; full && !signal.aborted; ) {
      const due = { expires_at: { $lte: new Date() } };
      const expired = await collection.find(due, { projection: { _id: 1 }, limit: BATCH }).toArray();
      // What was renewed since the look is not due any more.
      if (expired.length > 0) {
        await collection.deleteMany({ ...due, _id: { $in: expired.map(({ _id }) => _id) } });
      }
      full = expired.length === BATCH;
    }
  }

  return createPeriodicTask({
    async run(signal) {
      // One collection that cannot be swept must not keep the others from it.
      for (const name of collections) await sweep(name, signal).catch((error: unknown) => warn(error, name));
    },
    everyMs: everySeconds * 1000,
    onError: warn,
  });
}
