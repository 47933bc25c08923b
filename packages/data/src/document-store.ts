import type { Connection } from 'mongoose';
import { defineCollection } from './collection.ts';
import { createCounts } from './counts.ts';
import { createFindById } from './find-by-id.ts';
import type { ListPlan } from './list-plan.ts';
import { createListSource } from './list-source.ts';
import { createVersionedWrites, type Revision, type VersionedDocument } from './versioned-write.ts';

/**
 * A store of aggregates with one document each: lists, `findById` and versioned writes. It defines the collection, with the
 * indexes of the plan and any others given.
 *
 * @param options.noun the noun for messages, such as 'item'
 * @param options.projection the fields that `read` and the plan's prefix need, in addition to those of a VersionedDocument
 * @param options.duplicate the error for a duplicate value of a unique field
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
    /** The stored fields of a property, as createDocumentMapper() has them; without it, lists read all. */
    storedAs?: (property: string) => readonly string[];
    write: (aggregate: T) => Omit<D, keyof VersionedDocument>;
    duplicate?: (field: string) => Error | undefined;
  },
) {
  const { name, plan, read, storedAs, indexes = [] } = options;
  const projection = { ...options.projection, version: 1, updated_at: 1, deleted_at: 1 } as const;
  const collection = defineCollection(connection, name, [...plan.indexes, ...indexes]);
  const findDocument = createFindById<D>(collection, projection);
  const counts = createCounts();
  return {
    ...createListSource({ collection, plan, projection, read, storedAs, counts }),
    ...createVersionedWrites({ ...options, collection, counts }),
    /** `within` is the value of the plan's prefix that the document must have. */
    async findById(id: string, within?: string): Promise<T | undefined> {
      const found = await findDocument(id);
      if (found === undefined || found.deleted_at !== undefined) return undefined;
      const isWithin = Object.entries(plan.prefixOf(within)).every(
        ([field, value]) => found[field as keyof D] === value,
      );
      return isWithin ? read(found) : undefined;
    },
  };
}
