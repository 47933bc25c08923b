import mongoose, { type Collection } from 'mongoose';

/**
 * Inserts the documents whose ids are new, with one command. Returns for each whether it was inserted; rejects when that is
 * not known of all of them.
 */
export async function insertNew<D extends { _id: string }>(
  collection: Collection<D>,
  documents: readonly D[],
): Promise<boolean[]> {
  const inserted = documents.map(() => true);
  try {
    await collection.insertMany(documents as never, { ordered: false });
  } catch (error) {
    if (!(error instanceof mongoose.mongo.MongoBulkWriteError)) throw error;
    const failures = [error.writeErrors].flat();
    if (failures.length === 0 || failures.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
    for (const { index } of failures) inserted[index] = false;
  }
  return inserted;
}

const DUPLICATE_KEY = 11000;
