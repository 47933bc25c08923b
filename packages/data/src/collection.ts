import { endDryRun } from '@gatehouse/core/dry-run';
import mongoose, { type Collection, type Connection } from 'mongoose';

/** A document as stored. Its id is a string. */
export type StoredDocument = { _id: string } & Record<string, unknown>;

export type DocumentCollection = Collection<StoredDocument>;

export type IndexDefinition = {
  fields: Readonly<Record<string, 1 | -1>>;
  options?: {
    /** By default that which MongoDB gives it, such as `owner_1__id_1`. */
    name?: string;
    unique?: boolean;
    sparse?: boolean;
    partialFilterExpression?: Readonly<Record<string, unknown>>;
  };
};

/**
 * Defines a collection and its indexes, which are created when the database starts. The documents have no mongoose schema:
 * the aggregate validates them, and casting and hydration would triple the cost of a query.
 */
export function defineCollection<D extends { _id: string } = StoredDocument>(
  connection: Connection,
  name: string,
  indexes: readonly IndexDefinition[],
): Collection<D> {
  const schema = new mongoose.Schema({ _id: String }, { collection: name, versionKey: false, strict: false });
  for (const { fields, options } of indexes) schema.index({ ...fields }, { ...options });
  connection.model(name, schema);
  return connection.collection<D>(name);
}

const WRITES = [
  ...['insertOne', 'insertMany', 'updateOne', 'updateMany', 'replaceOne', 'deleteOne', 'deleteMany'],
  ...['findOneAndUpdate', 'findOneAndReplace', 'findOneAndDelete', 'bulkWrite'],
];

/** Makes the writes of a collection end a dry run. Returns it. */
export function endingDryRuns(collection: Collection): Collection {
  const all = collection as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of Object.hasOwn(all, 'insertOne') ? [] : WRITES) {
    const write = all[name]?.bind(collection);
    all[name] = (...args) => {
      endDryRun();
      return write?.(...args);
    };
  }
  return collection;
}
