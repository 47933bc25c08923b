import { duplicateKeyField } from '@gatehouse/data/duplicate-key';

/** Whether an insertion or upsert succeeded; false if there is a document with this id already. */
export async function isNew(writing: Promise<unknown>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (duplicateKeyField(error) === '_id') return false;
    throw error;
  }
}
