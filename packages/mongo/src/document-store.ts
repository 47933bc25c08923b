import type { Connection } from 'mongoose';
import { defineCollection } from './collection.ts';
import { createCounts } from './counts.ts';
import type { ListPlan } from './list-plan.ts';
import { createListSource } from './list-source.ts';
import { createVersionedWrites, type Revision, type VersionedDocument } from './versioned-write.ts';

/**
 * The store of an aggregate that has all of its fields in one document: defines the collection, with the indexes of its
 * lists and those given, and has its lists, `findById` and versioned writes.
 *
 * @param options.noun what messages call one of them, such as 'item'
 * @param options.projection the fields that `read` needs, beside the id and those of a VersionedDocument
 * @param options.duplicate the error for the caller when another document has the same value of a unique field
 */
export function createDocumentStore<
  Field extends string,
  T extends Revision & { id: string },
  D extends VersionedDocument,
>(
  connection: Connection,
  options: {
    name: string;
    noun: string;
    plan: ListPlan<Field>;
    indexes?: Parameters<typeof defineCollection>[2];
    projection: Readonly<Record<string, 1>>;
    read: (document: D) => T;
    write: (aggregate: T) => Omit<D, keyof VersionedDocument>;
    duplicate?: (field: string) => Error | undefined;
  },
) {
  const { name, plan, read, indexes = [] } = options;
  const projection = { ...options.projection, version: 1, updated_at: 1, deleted_at: 1 } as const;
  const collection = defineCollection(connection, name, [...plan.indexes, ...indexes]);
  const counts = createCounts();
  return {
    ...createListSource({ collection, plan, projection, read, counts }),
    ...createVersionedWrites({ ...options, collection, counts }),
    async findById(id: string): Promise<T | undefined> {
      const found = await collection.findOne<D>({ _id: id }, { projection });
      return found === null || found.deleted_at !== undefined ? undefined : read(found);
    },
  };
}
