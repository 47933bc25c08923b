import { createBatches } from '@gatehouse/data/batches';
import { type DocumentCollection, defineCollection } from '@gatehouse/data/collection';
import { createCounts } from '@gatehouse/data/counts';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { insertNew } from '@gatehouse/data/insert-new';
import {
  FORMER_JOBS_INDEX,
  IS_OPEN,
  JOB_INDEXES,
  type JobState,
  newJob,
  type Priority,
} from '@gatehouse/data/job-document';
import { createListPlan } from '@gatehouse/data/list-plan';
import { createListSource } from '@gatehouse/data/list-source';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { KEPT_DAYS, type StoredEvent } from '../events/event.ts';
import { DELIVERY, type Delivery, type DeliveryField, deliveryIdOf, GIVE_UP_MS } from './delivery.ts';

export const DELIVERIES = 'webhook_deliveries';

export type DeliveryDocument = StoredOf<typeof DELIVERY> & {
  /** Null once it has ended. */
  job: JobState | null;
  expires_at: Date;
};

/** A delivery to be made: of an event to a webhook of this owner. */
export type NewDelivery = { webhook: string; owner: string; event: StoredEvent };

/** The lane of the deliveries. */
export const LANE = 'all';

const MAX_BATCH = 1000;

export const deliveryDocuments = createDocumentMapper(DELIVERY);
const { projection, read, write, listFields } = deliveryDocuments;
const LISTS = createListPlan({ fields: listFields, prefix: 'webhook' });

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

/** Deliveries in MongoDB; defines their collection on the connection. */
export function createDeliveryStore(connection: Connection) {
  const collection = defineCollection<DeliveryDocument>(connection, DELIVERIES, [
    // The one list: of one webhook, the latest first.
    ...LISTS.indexes.filter(({ fields }) => 'webhook' in fields && 'created_at' in fields),
    JOB_INDEXES.due,
    JOB_INDEXES.since,
    JOB_INDEXES.dead,
    FORMER_JOBS_INDEX,
    {
      fields: { webhook: 1, aggregate: 1, sequence: 1 },
      options: { name: 'order', partialFilterExpression: { 'job.due': IS_OPEN } },
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
    /** Adds those that are new. Returns the jobs of all. */
    async add(of: readonly NewDelivery[], priority: Priority = 'normal'): Promise<JobState[]> {
      const jobs = of.map((it) => newJob({ lane: LANE, priority, owner: it.owner }));
      const documents = of.map((it, i) => newDocument(it, jobs[i] as JobState));
      await Promise.all(documents.map(insert));
      // Also those that were there: perhaps nobody has announced them.
      return jobs;
    },
    /**
     * The same, and those that have ended begin once more. With `now`, those that wait for their next attempt do not wait
     * any longer. Returns the jobs of all.
     */
    async addAgain(
      of: readonly NewDelivery[],
      priority: Priority,
      { now: isNow = false } = {},
    ): Promise<JobState[]> {
      const due = await this.add(of, priority);
      const now = new Date();
      const again = of.map((it) => {
        const { _id, job } = newDocument(it, newJob({ lane: LANE, priority, owner: it.owner }));
        const begun = { status: 'pending' as const, reason: null, begun_at: now };
        const update = {
          $set: { ...begun, updated_at: now, next_attempt_at: now, job },
          $inc: { version: 1 },
        };
        return { updateOne: { filter: { _id, status: { $ne: 'pending' as const } }, update } };
      });
      if (again.length > 0) await collection.bulkWrite(again);
      const ids = of.map((it) => deliveryIdOf(it));
      if (isNow) {
        await collection.updateMany(
          { _id: { $in: ids }, 'job.due': IS_OPEN, 'job.holder': null },
          { $set: { 'job.due': now, next_attempt_at: now } },
        );
      }
      return due;
    },
    /** The first that is pending of those before this one about the same aggregate. */
    async before({ webhook, aggregate, sequence, id }: Delivery): Promise<Delivery | undefined> {
      const found = await collection
        .find({ webhook, aggregate, sequence: { $lt: sequence }, 'job.due': IS_OPEN, _id: { $ne: id } })
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

function newDocument(of: NewDelivery, job: JobState): DeliveryDocument {
  const { webhook, event } = of;
  const now = new Date();
  const id = deliveryIdOf(of);
  const { type, aggregate, sequence } = event;
  const times = { begunAt: now, createdAt: now, updatedAt: now, nextAttemptAt: now };
  const delivery = { id, webhook, event: event.id, type, aggregate, sequence, reason: null, attempts: [] };
  return {
    _id: id,
    ...write({ ...delivery, ...times, status: 'pending', version: 1 }),
    job,
    expires_at: new Date(now.getTime() + KEPT_DAYS * 86_400_000),
  };
}
