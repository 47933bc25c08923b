import mongoose from 'mongoose';

const DUPLICATE_KEY = 11000;

/**
 * The field of the unique index that an insert or update violated; undefined for any other error. For a compound index
 * it is the first field.
 */
export function duplicateKeyField(error: unknown): string | undefined {
  if (!(error instanceof mongoose.mongo.MongoServerError) || error.code !== DUPLICATE_KEY) return undefined;
  const { keyPattern } = error as { keyPattern?: Record<string, unknown> };
  return Object.keys(keyPattern ?? {})[0];
}

/** The value of that field that is taken. */
export function duplicateKeyValue(error: unknown): unknown {
  return Object.values((error as { keyValue?: object }).keyValue ?? {})[0];
}

/**
 * The indexes of the operations of a bulk write that violated a unique index. Throws an error that has any other cause, after
 * which it is not known which operations were done.
 */
export function duplicateKeyOperations(error: unknown): number[] {
  if (!(error instanceof mongoose.mongo.MongoBulkWriteError)) throw error;
  const failures = [error.writeErrors].flat();
  if (failures.length === 0 || failures.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
  return failures.map(({ index }) => index);
}
