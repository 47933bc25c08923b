import DataLoader from 'dataloader';
import type { DocumentCollection } from './collection.ts';

/** The documents that one query reads at most. */
const MAX_BATCH_SIZE = 50;

/**
 * A function that finds a document by its id. The calls of one iteration of the event loop share one query, which under
 * load costs the service and the database a fraction of a query for each; nothing is cached.
 *
 * @param projection the fields of the document
 */
export function createFindById<D extends { _id: string }>(
  collection: DocumentCollection,
  projection: Readonly<Record<string, 1>>,
): (id: string) => Promise<D | undefined> {
  async function findAll(ids: readonly string[]): Promise<(D | undefined)[]> {
    const [id = ''] = ids;
    // By one id alone, for which the database needs no query plan.
    if (ids.length === 1) return [(await collection.findOne<D>({ _id: id }, { projection })) ?? undefined];
    const found = await collection.find<D>({ _id: { $in: [...ids] } }, { projection }).toArray();
    const byId = new Map(found.map((document) => [document._id, document]));
    return ids.map((each) => byId.get(each));
  }
  const loader = new DataLoader(findAll, {
    cache: false,
    maxBatchSize: MAX_BATCH_SIZE,
    batchScheduleFn: setImmediate,
  });
  return (id) => loader.load(id);
}
