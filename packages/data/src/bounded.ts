import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { Connection } from 'mongoose';

/** The maximum number of documents of a collection; beyond it, the first by `firstToGo` are removed. */
export type CollectionBound = {
  collection: string;
  max: number;
  /** The documents that count and may be removed; by default all. Called for each count, as the filter may contain a time. */
  filter?: () => Record<string, unknown>;
  firstToGo: Record<string, 1 | -1>;
  /** The index to read them by, where the database would choose one that does not sort. */
  index?: Record<string, 1 | -1>;
};

/** The number of documents removed at a time: few, so that other writes are not blocked for long. */
const BATCH = 500;

/**
 * Keeps collections within their bounds. Between two runs they may grow beyond, which limits on requests must keep small.
 * Each needs an index that begins like `firstToGo`, or with the fields of the filter and then those.
 */
export function createBoundKeeper(
  connection: Connection,
  bounds: readonly CollectionBound[],
  options: { logger: Logger; everySeconds?: number },
): PeriodicTask {
  const { logger, everySeconds = 60 } = options;

  async function keep(
    { collection: name, max, filter = () => ({}), firstToGo, index }: CollectionBound,
    signal: AbortSignal,
  ) {
    const collection = connection.collection(name);
    // The estimate comes from the metadata, which costs nothing: most collections are far from their bounds.
    if ((await collection.estimatedDocumentCount()) <= max) return;
    let excess = (await collection.countDocuments(filter())) - max;
    if (excess <= 0) return;
    logger.warn({ collection: name, excess }, 'a collection is full: removing the excess');
    for (; excess > 0 && !signal.aborted; excess -= BATCH) {
      const limit = Math.min(excess, BATCH);
      const first = await collection
        .find(filter(), { projection: { _id: 1 }, sort: firstToGo, limit, ...(index && { hint: index }) })
        .toArray();
      if (first.length === 0) return;
      await collection.deleteMany({ _id: { $in: first.map(({ _id }) => _id) } });
    }
  }

  return createPeriodicTask({
    async run(signal) {
      for (const bound of bounds) {
        await keep(bound, signal).catch((error: unknown) => {
          logger.warn({ err: error, collection: bound.collection }, 'a collection could not be limited');
        });
      }
    },
    everyMs: everySeconds * 1000,
    onError: (error) => logger.warn({ err: error }, 'collections could not be limited'),
  });
}
