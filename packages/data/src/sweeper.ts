import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { Connection } from 'mongoose';

/** The number of documents removed at a time: few, so that a sweep does not block other writes for long. */
const BATCH = 500;
/** How many times as long the pause is after a sweep that has found nothing. */
const IDLE_FACTOR = 6;

/**
 * Removes documents whose `expires_at` has passed. The embedded engine has no TTL indexes. Readers must check `expires_at`
 * themselves, since a sweep is up to `everySeconds` late, and IDLE_FACTOR times that when the one before has found nothing.
 * Each collection needs an index on `expires_at`.
 */
export function createSweeper(
  connection: Connection,
  collections: readonly string[],
  options: { logger: Logger; everySeconds?: number },
): PeriodicTask {
  const { logger, everySeconds = 20 } = options;
  const warn = (error: unknown, collection?: string) =>
    logger.warn({ err: error, collection }, 'a sweep failed; the next one continues');

  let hasRemoved = true;

  async function sweep(name: string, signal: AbortSignal): Promise<void> {
    const collection = connection.collection(name);
    for (let isFull = true; isFull && !signal.aborted; ) {
      const expiredFilter = { expires_at: { $lte: new Date() } };
      const expired = await collection
        .find(expiredFilter, { projection: { _id: 1 }, limit: BATCH })
        .toArray();
      // Checked again, since a document may have been renewed in the meantime.
      if (expired.length > 0) {
        hasRemoved = true;
        await collection.deleteMany({ ...expiredFilter, _id: { $in: expired.map(({ _id }) => _id) } });
      }
      isFull = expired.length === BATCH;
    }
  }

  return createPeriodicTask({
    async run(signal) {
      hasRemoved = false;
      // A failure in one collection must not prevent the sweep of the others.
      for (const name of collections) await sweep(name, signal).catch((error: unknown) => warn(error, name));
    },
    everyMs: () => everySeconds * 1000 * (hasRemoved ? 1 : IDLE_FACTOR),
    onError: warn,
  });
}
