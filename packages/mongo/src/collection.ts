import mongoose, { type Collection, type Connection } from 'mongoose';

/** A document as stored. Its id is a text. */
export type StoredDocument = { _id: string } & Record<string, unknown>;

export type DocumentCollection = Collection<StoredDocument>;

export type IndexDefinition = {
  fields: Readonly<Record<string, 1>>;
  options: { name: string; unique?: boolean; partialFilterExpression?: Readonly<Record<string, unknown>> };
};

/**
 * A collection, with the indexes that it gets when the database starts. Its documents have no mongoose schema: the
 * aggregate has validated what is written, and to cast and hydrate would cost thrice as much as the driver alone.
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
