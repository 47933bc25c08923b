import mongoose from 'mongoose';

/**
 * The field of the unique index that an insert or update violated; undefined for any other error. For a compound index
 * it is the first field.
 */
export function duplicateKeyField(error: unknown): string | undefined {
  if (!(error instanceof mongoose.mongo.MongoServerError) || error.code !== 11000) return undefined;
  const { keyPattern } = error as { keyPattern?: Record<string, unknown> };
  return Object.keys(keyPattern ?? {})[0];
}
