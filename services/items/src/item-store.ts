import { ServiceError } from '@gatehouse/kit/errors';
import { omitUndefined } from '@gatehouse/kit/omit-undefined';
import { defineCollection } from '@gatehouse/mongo/collection';
import { createCounts } from '@gatehouse/mongo/counts';
import { createListPlan } from '@gatehouse/mongo/list-plan';
import { createListSource } from '@gatehouse/mongo/list-source';
import { createVersionedWrites, type VersionedDocument } from '@gatehouse/mongo/versioned-write';
import type { Connection } from 'mongoose';
import type { Item, ItemStore } from './item.ts';

/** As stored. The value is a text, since a document would lose digits of numbers and cannot have every key. */
export type ItemDocument = VersionedDocument & {
  owner_id: string | null;
  name: string;
  value: string;
  created_at: Date;
};

const LISTS = createListPlan({
  fields: {
    id: { stored: '_id', type: 'string', unique: true },
    name: { stored: 'name', type: 'string' },
    createdAt: { stored: 'created_at', type: 'date' },
  },
  prefix: 'owner_id',
});
const PROJECTION = { owner_id: 1, name: 1, value: 1, version: 1, created_at: 1, updated_at: 1 } as const;

/** Items in MongoDB; defines its collection on the connection. */
export function createItemStore(connection: Connection): ItemStore {
  const collection = defineCollection(connection, 'items', LISTS.indexes);
  const counts = createCounts();
  const writes = createVersionedWrites({
    collection,
    noun: 'item',
    read,
    write,
    counts,
    duplicate: () => new ServiceError('conflict', 'This item exists already.'),
  });
  return {
    ...createListSource({ collection, plan: LISTS, projection: PROJECTION, read, counts }),
    insert: writes.insert,
    async findById(id) {
      const found = await collection.findOne<ItemDocument>({ _id: id }, { projection: PROJECTION });
      return found === null ? undefined : read(found);
    },
    async update(id, changes, ifVersion) {
      const decide = (item: Item, revision: Pick<Item, 'version' | 'updatedAt'>) => ({
        next: { ...item, ...omitUndefined(changes), ...revision },
      });
      const change = await writes.update(id, decide, ifVersion);
      if (change === undefined) throw new Error('every change of an item changes it');
      return change.next;
    },
    async remove(id, ifVersion) {
      await writes.remove(id, () => ({}), ifVersion);
    },
  };
}

function read({ _id: id, name, value, ...stored }: ItemDocument): Item {
  const { owner_id: ownerId, version = 0, created_at: createdAt, updated_at: updatedAt } = stored;
  return { id, ownerId, name, value, version, createdAt, updatedAt };
}

function write({ ownerId, name, value, createdAt }: Item) {
  return { owner_id: ownerId, name, value, created_at: createdAt };
}
