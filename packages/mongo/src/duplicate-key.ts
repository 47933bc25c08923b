import mongoose from 'mongoose';

/**
 * The field of the unique index that an insert or update ran into, or undefined when the error is another.
 * For an index over several fields it is the first.
 */
export function duplicateKeyField(error: unknown): string | undefined {
  if (!(error instanceof mongoose.mongo.MongoServerError) || error.code !== 11000) return undefined;
  const { keyPattern } = error as { keyPattern?: Record<string, unknown> };
  return Object.keys(keyPattern ?? {})[0];
}
