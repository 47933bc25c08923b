import { derivedId } from '@gatehouse/core/ids';
import { createBatches } from '@gatehouse/data/batches';
import { type DocumentCollection, defineCollection } from '@gatehouse/data/collection';
import { createCounts } from '@gatehouse/data/counts';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { insertNew } from '@gatehouse/data/insert-new';
import { createListPlan } from '@gatehouse/data/list-plan';
import { createListSource } from '@gatehouse/data/list-source';
import { OPEN_JOBS_INDEX } from '@gatehouse/data/open-jobs';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { KEPT_DAYS, type StoredEvent } from '../events/event.ts';
import { DELIVERY, type Delivery, type DeliveryField, GIVE_UP_MS } from './delivery.ts';

export const DELIVERIES = 'webhook_deliveries';

export type DeliveryDocument = StoredOf<typeof DELIVERY> & {
  /** The attempts of this run, with the one that has begun. */
  begun: number;
  /** Who made the last attempt, and until when nobody else makes another. */
  holder: string | null;
  leased_until: Date;
  /** When it is checked whether its job is still there; null once it has ended. */
  check_at: Date | null;
  expires_at: Date;
};

const MAX_BATCH = 1000;
export const FREE = new Date(0);

export const deliveryDocuments = createDocumentMapper(DELIVERY);
const { projection, read, write, listFields } = deliveryDocuments;
const LISTS = createListPlan({ fields: listFields, prefix: 'webhook' });

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

/** Deliveries in MongoDB; defines their collection on the connection. */
export function createDeliveryStore(connection: Connection) {
  const collection = defineCollection<DeliveryDocument>(connection, DELIVERIES, [
    // The one list: of one webhook, the latest first.
    ...LISTS.indexes.filter(({ fields }) => 'webhook' in fields && 'created_at' in fields),
    OPEN_JOBS_INDEX,
    {
      fields: { webhook: 1, aggregate: 1, sequence: 1 },
      options: { name: 'order', partialFilterExpression: { check_at: { $gt: FREE } } },
    },
    { fields: { expires_at: 1 }, options: { name: 'expires_at' } },
  ]);
  const counts = createCounts();
  const source = createListSource<DeliveryField, DeliveryDocument, Delivery>({
    collection: collection as unknown as DocumentCollection,
    plan: LISTS,
    projection,
    read,
    counts,
  });
  /** Those of events that happen at the same time are inserted together. */
  const insert = createBatches<DeliveryDocument, boolean>({
    max: MAX_BATCH,
    run: (documents) => insertNew(collection, documents),
  });

  return {
    collection,
    within: (webhook: string) => source.within(webhook),
    async findById(id: string, webhook: string): Promise<Delivery | undefined> {
      const found = await collection.findOne({ _id: id, webhook });
      return found === null ? undefined : read(found);
    },
    /** Adds those that are new; with `again`, those that have ended begin once more. Returns all that are pending now. */
    async add(of: readonly { webhook: string; event: StoredEvent }[], again = false): Promise<Delivery[]> {
      if (of.length === 0) return [];
      const documents = of.map(({ webhook, event }) => newDocument(webhook, event));
      const isNew = await Promise.all(documents.map(insert));
      const added = documents.filter((_, i) => isNew[i]);
      const ids = documents.filter((_, i) => !isNew[i]).map(({ _id }) => _id);
      if (!again || ids.length === 0) return added.map(read);
      const now = new Date();
      await collection.updateMany(
        { _id: { $in: ids }, status: { $ne: 'pending' } },
        {
          $set: {
            status: 'pending',
            reason: null,
            begun_at: now,
            updated_at: now,
            begun: 0,
            ...waiting(now, 0),
          },
          $inc: { run: 1, version: 1 },
        },
      );
      const found = await collection.find({ _id: { $in: ids }, status: 'pending' }).toArray();
      return [...added, ...found].map(read);
    },
    /** The first that is pending of those before this one about the same aggregate. */
    async before({ webhook, aggregate, sequence, id }: Delivery): Promise<Delivery | undefined> {
      const found = await collection
        .find({ webhook, aggregate, sequence: { $lt: sequence }, check_at: { $gt: FREE }, _id: { $ne: id } })
        .sort({ sequence: 1 })
        .limit(1)
        .toArray();
      return found[0] && read(found[0]);
    },
    /** Whether the webhook has taken anything since. */
    async hasSucceededSince(webhook: string, since: Date): Promise<boolean> {
      const found = await collection.findOne(
        // It may have begun before; no run takes longer than that.
        {
          webhook,
          created_at: { $gt: new Date(since.getTime() - GIVE_UP_MS) },
          status: 'succeeded',
          updated_at: { $gt: since },
        },
        { projection: { _id: 1 } },
      );
      return found !== null;
    },
    async removeAllOf(webhook: string): Promise<void> {
      await collection.deleteMany({ webhook });
    },
  };
}

/** The fields of a delivery that is due after this time. */
export const waiting = (now: Date, ms: number) => {
  const at = new Date(now.getTime() + ms);
  return { next_attempt_at: at, check_at: at, leased_until: FREE, holder: null };
};

function newDocument(webhook: string, event: StoredEvent): DeliveryDocument {
  const now = new Date();
  const id = derivedId('dlv', `${webhook} ${event.id}`);
  const { type, aggregate, sequence } = event;
  const times = { begunAt: now, createdAt: now, updatedAt: now, nextAttemptAt: now };
  const delivery = { id, webhook, event: event.id, type, aggregate, sequence, reason: null, attempts: [] };
  return {
    _id: id,
    ...write({ ...delivery, ...times, status: 'pending', run: 1, version: 1 }),
    ...waiting(now, 0),
    begun: 0,
    expires_at: new Date(now.getTime() + KEPT_DAYS * 86_400_000),
  };
}
