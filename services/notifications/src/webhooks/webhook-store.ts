import type { StoredDocument } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { createDocumentStore } from '@gatehouse/data/document-store';
import { JOB_INDEXES, type JobState } from '@gatehouse/data/job-document';
import { createListPlan } from '@gatehouse/data/list-plan';
import { OUTBOX_INDEX } from '@gatehouse/data/outbox';
import { insertInSlots } from '@gatehouse/data/slots';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import {
  memberOf,
  WEBHOOK,
  WEBHOOK_LIMITS,
  type Webhook,
  type WebhookAction,
  type WebhookField,
  type WebhookStore,
  wordsOf,
} from './webhook.ts';

export const WEBHOOKS = 'webhooks';
/** The subject of the events that are actions, which identity does not have yet. */
export const WEBHOOK_ACTION = 'notifications.webhook.action';

/** Its job is its replay. */
export type WebhookDocument = StoredOf<typeof WEBHOOK> & VersionedDocument & { job?: JobState | null };

export const { listFields, ...webhookDocuments } = createDocumentMapper(WEBHOOK);
const LISTS = createListPlan({ fields: listFields, prefix: 'owner' });

const eventsOf = (action: WebhookAction | undefined) =>
  action === undefined ? [] : [{ subject: WEBHOOK_ACTION, data: action }];

/** Webhooks in MongoDB; defines their collection on the connection. */
export function createWebhookStore(connection: Connection): WebhookStore {
  const store = createDocumentStore<WebhookField, Webhook, WebhookDocument>(connection, {
    name: WEBHOOKS,
    noun: 'webhook',
    plan: LISTS,
    indexes: [
      { fields: { events: 1, status: 1 }, options: { name: 'events' } },
      {
        fields: { owner: 1, slot: 1 },
        options: { name: 'slots', unique: true, partialFilterExpression: { slot: { $gte: 0 } } },
      },
      {
        fields: { 'basis.giver.id': 1, owner: 1, member_slot: 1 },
        options: {
          name: 'member_slots',
          unique: true,
          partialFilterExpression: { member_slot: { $gte: 0 } },
        },
      },
      OUTBOX_INDEX,
      JOB_INDEXES.due,
      JOB_INDEXES.since,
      JOB_INDEXES.dead,
    ],
    ...webhookDocuments,
  });
  const collection = connection.collection<StoredDocument>(WEBHOOKS);
  return {
    within: store.within,
    findById: store.findById,
    async findByIds(ids) {
      const found = await collection
        .find<WebhookDocument>({ _id: { $in: [...ids] }, deleted_at: null })
        .toArray();
      return found.map(webhookDocuments.read);
    },
    async insert(webhook, action) {
      const { owner } = webhook;
      const giver = memberOf(webhook);
      const taken = (filter: object) => async () => {
        const projection = { slot: 1, member_slot: 1 };
        const found = await collection
          .find<{ slot?: number; member_slot?: number }>({ owner, ...filter }, { projection })
          .toArray();
        return found.map(({ slot: perOwner, member_slot: perMember }) => ({ perOwner, perMember }));
      };
      const ofOwner = { limit: WEBHOOK_LIMITS.perOwner, field: 'owner', taken: taken({}) };
      const insert = ({ perOwner, perMember = null }: { perOwner: number; perMember?: number | null }) =>
        store.insert({ ...webhook, slot: perOwner, memberSlot: perMember }, eventsOf(action));
      if (giver === undefined) return insertInSlots({ perOwner: ofOwner }, insert);
      const ofMember = {
        limit: WEBHOOK_LIMITS.perMember,
        field: 'basis.giver.id',
        taken: taken({ 'basis.giver.id': giver }),
      };
      return insertInSlots({ perOwner: ofOwner, perMember: ofMember }, insert);
    },
    async update(id, decide, ifVersion, actionOf) {
      const change = await store.update(
        id,
        (current, revision) => {
          const next = decide(current);
          if (next === undefined) return undefined;
          const events = eventsOf(actionOf?.(current, next));
          return { next: { ...next, ...revision }, events, unwritten: ['replay'] };
        },
        ifVersion,
      );
      return change?.next;
    },
    async remove(id, ifVersion, action) {
      await store.remove(id, () => ({ events: eventsOf(action) }), ifVersion);
    },
    async subscribed(type) {
      const found = await collection
        .find<WebhookDocument>(
          { events: { $in: wordsOf(type) }, status: 'active' },
          { projection: { reader: 1, owner: 1, basis: 1 } },
        )
        .toArray();
      return found.map(({ _id: id, reader, owner, basis }) => ({ id, reader, owner, basis }));
    },
    async removeAllOf(owner) {
      const found = await collection.find({ owner }, { projection: { _id: 1 } }).toArray();
      await collection.deleteMany({ owner });
      return found.map(({ _id }) => _id);
    },
    async *all() {
      for await (const document of collection.find<WebhookDocument>({ deleted_at: null }))
        yield webhookDocuments.read(document);
    },
  };
}
