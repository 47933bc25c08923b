import { ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { StoredDocument } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { createDocumentStore } from '@gatehouse/data/document-store';
import { inBatches } from '@gatehouse/data/erasures';
import { createListPlan } from '@gatehouse/data/list-plan';
import type { Connection } from 'mongoose';
import { ITEM, type ItemStore } from './item.ts';

const { listFields, ...documents } = createDocumentMapper(ITEM);
const LISTS = createListPlan({ fields: listFields, prefix: 'owner_id' });

/** Items in MongoDB; defines its collection on the connection. */
export function createItemStore(connection: Connection): ItemStore {
  const store = createDocumentStore(connection, {
    name: 'items',
    noun: 'item',
    plan: LISTS,
    ...documents,
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
