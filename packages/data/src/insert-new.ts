import type { Collection } from 'mongoose';
import { duplicateKeyOperations } from './duplicate-key.ts';

/**
 * Inserts the documents whose ids are new, with one command. Returns for each whether it was inserted; rejects when that is unknown for
 * any.
 */
export async function insertNew<D extends { _id: string }>(
  collection: Collection<D>,
  documents: readonly D[],
): Promise<boolean[]> {
  const inserted = documents.map(() => true);
  try {
    await collection.insertMany(documents as never, { ordered: false });
  } catch (error) {
    for (const index of duplicateKeyOperations(error)) inserted[index] = false;
  }
  return inserted;
}
