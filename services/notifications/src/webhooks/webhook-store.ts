import type { StoredDocument } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { createDocumentStore } from '@gatehouse/data/document-store';
import { createListPlan } from '@gatehouse/data/list-plan';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { WEBHOOK, type Webhook, type WebhookField, type WebhookStore, wordsOf } from './webhook.ts';

const COLLECTION = 'webhooks';

type WebhookDocument = StoredOf<typeof WEBHOOK> & VersionedDocument;

const { listFields, ...documents } = createDocumentMapper(WEBHOOK);
const LISTS = createListPlan({ fields: listFields, prefix: 'owner' });

/** Webhooks in MongoDB; defines their collection on the connection. */
export function createWebhookStore(connection: Connection): WebhookStore {
  const store = createDocumentStore<WebhookField, Webhook, WebhookDocument>(connection, {
    name: COLLECTION,
    noun: 'webhook',
    plan: LISTS,
    indexes: [{ fields: { events: 1, status: 1 }, options: { name: 'events' } }],
    ...documents,
  });
  const collection = connection.collection<StoredDocument>(COLLECTION);
  return {
    within: store.within,
    findById: store.findById,
    countOf: (owner) => collection.countDocuments({ owner }),
    insert: (webhook) => store.insert(webhook),
    async update(id, decide, ifVersion) {
      const change = await store.update(
        id,
        (current, revision) => {
          const next = decide(current);
          return next && { next: { ...next, ...revision } };
        },
        ifVersion,
      );
      return change?.next;
    },
    async remove(id, ifVersion) {
      await store.remove(id, () => ({}), ifVersion);
    },
    async subscribed(type) {
      const found = await collection
        .find<WebhookDocument>(
          { events: { $in: wordsOf(type) }, status: 'active' },
          { projection: { reader: 1 } },
        )
        .toArray();
      return found.map(({ _id: id, reader }) => ({ id, reader }));
    },
    async removeAllOf(owner) {
      const found = await collection.find({ owner }, { projection: { _id: 1 } }).toArray();
      await collection.deleteMany({ owner });
      return found.map(({ _id }) => _id);
    },
    async *all() {
      for await (const document of collection.find<WebhookDocument>({})) yield documents.read(document);
    },
  };
}
