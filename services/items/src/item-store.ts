import { ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { StoredDocument } from '@gatehouse/data/collection';
import { createDocumentStore } from '@gatehouse/data/document-store';
import { inBatches } from '@gatehouse/data/erasures';
import { createListPlan } from '@gatehouse/data/list-plan';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { Connection } from 'mongoose';
import type { Item, ItemStore } from './item.ts';

/** As stored. The value is JSON text, since BSON would lose digits of numbers and does not allow every key. */
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

/** Items in MongoDB; defines its collection on the connection. */
export function createItemStore(connection: Connection): ItemStore {
  const store = createDocumentStore(connection, {
    name: 'items',
    noun: 'item',
    plan: LISTS,
    projection: { owner_id: 1, name: 1, value: 1, created_at: 1 },
    read,
    write,
    duplicate: () => new ServiceError('conflict', 'This item already exists.'),
  });
  const items = connection.collection<StoredDocument>('items');
  return {
    ...store,
    async update(id, changes, ifVersion) {
      const change = await store.update(
        id,
        (item, revision) => ({ next: { ...item, ...omitUndefined(changes), ...revision } }),
        ifVersion,
      );
      return change.next;
    },
    async remove(id, ifVersion) {
      await store.remove(id, () => ({}), ifVersion);
    },
    removeAllOf: (owner) =>
      inBatches(items, { owner_id: owner }, (ids) => items.deleteMany({ _id: { $in: ids } })),
  };
}

function read({ _id: id, name, value, ...stored }: ItemDocument): Item {
  const { owner_id: ownerId, version = 0, created_at: createdAt, updated_at: updatedAt } = stored;
  return { id, ownerId, name, value, version, createdAt, updatedAt };
}

function write({ ownerId, name, value, createdAt }: Item) {
  return { owner_id: ownerId, name, value, created_at: createdAt };
}
