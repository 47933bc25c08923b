import { foldedKey } from '@gatehouse/domain/folded-key';
import type { Connection } from 'mongoose';
import { defineCollection } from '../src/collection.ts';
import { createCounts } from '../src/counts.ts';
import { createListPlan } from '../src/list-plan.ts';
import { createListSource } from '../src/list-source.ts';
import { OUTBOX_INDEX } from '../src/outbox.ts';
import { createVersionedWrites, type VersionedDocument } from '../src/versioned-write.ts';

export type Item = {
  id: string;
  name: string;
  /** Any JSON. */
  value: string;
  ownerId: string;
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

export type ItemDocument = VersionedDocument & {
  name: string;
  name_key: string;
  value: string;
  owner_id: string;
  created_at: Date;
};

export const ITEM_LISTS = createListPlan({
  fields: {
    id: { stored: '_id', type: 'string', unique: true },
    name: { stored: 'name_key', type: 'folded' },
    createdAt: { stored: 'created_at', type: 'date' },
  },
  prefix: 'owner_id',
  notDeleted: { name_key: { $gte: '' } },
});

const PROJECTION = { name: 1, value: 1, owner_id: 1, version: 1, created_at: 1, updated_at: 1 } as const;

export function createItemStore(connection: Connection) {
  const collection = defineCollection(connection, 'items', [...ITEM_LISTS.indexes, OUTBOX_INDEX]);
  const counts = createCounts();
  const lists = createListSource({ collection, plan: ITEM_LISTS, projection: PROJECTION, read, counts });
  return {
    ...lists,
    ...createVersionedWrites({ collection, noun: 'item', read, write, counts }),
    async findById(id: string): Promise<Item | undefined> {
      const found = await collection.findOne<ItemDocument>({ _id: id }, { projection: PROJECTION });
      return found?.name === undefined ? undefined : read(found);
    },
  };
}

function read({ _id: id, name, value, ...stored }: ItemDocument): Item {
  const { owner_id: ownerId, version = 0, created_at: createdAt, updated_at: updatedAt } = stored;
  return { id, name, value, ownerId, version, createdAt, updatedAt };
}

function write({ name, value, ownerId, createdAt }: Item) {
  return { name, name_key: foldedKey(name), value, owner_id: ownerId, created_at: createdAt };
}
