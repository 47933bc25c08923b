import { createBatches } from '@gatehouse/data/batches';
import { type DocumentCollection, defineCollection } from '@gatehouse/data/collection';
import { createCounts } from '@gatehouse/data/counts';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { insertNew } from '@gatehouse/data/insert-new';
import { IS_OPEN, JOB_INDEXES, type JobState, newJob, PRIORITIES } from '@gatehouse/data/job-document';
import { createListPlan } from '@gatehouse/data/list-plan';
import { createListSource } from '@gatehouse/data/list-source';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Collection, Connection } from 'mongoose';
import { KEPT_DAYS, type StoredEvent } from '../events/event.ts';
import { DELIVERY, type Delivery, type DeliveryField, deliveryIdOf } from './delivery.ts';

export const DELIVERIES = 'webhook_deliveries';

export type DeliveryDocument = StoredOf<typeof DELIVERY> & {
  /** Null once it has ended. */
  job: JobState | null;
  /** The replay that it belongs to, if any. */
  replay?: string;
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
const BY_STATUS = {
  fields: { webhook: 1, status: 1, created_at: 1, _id: 1 },
  options: { name: 'webhook_1_status_1_created_at_1__id_1' },
} as const;
const BY_END = {
  fields: { webhook: 1, status: 1, updated_at: 1 },
  options: { name: 'ended' },
} as const;

/** A list of one status has an index of its own, since few of very many deliveries may have it. */
const PLAN: typeof LISTS = {
  ...LISTS,
  read(query, within) {
    const plan = LISTS.read(query, within);
    const { $in: [status, ...others] = [] } = Object(Object(plan?.filter).status) as { $in?: string[] };
    if (plan === undefined || status === undefined || others.length > 0) return plan;
    return { ...plan, index: BY_STATUS.options.name, prefix: { ...plan.prefix, status }, filter: {} };
  },
};

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

/** Deliveries in MongoDB; defines their collection on the connection. */
export function createDeliveryStore(connection: Connection) {
  const collection = defineCollection<DeliveryDocument>(connection, DELIVERIES, [
    // The one list: of one webhook, the latest first.
    ...LISTS.indexes.filter(({ fields }) => 'webhook' in fields && 'created_at' in fields),
    BY_STATUS,
    BY_END,
    JOB_INDEXES.due,
    JOB_INDEXES.since,
    JOB_INDEXES.dead,
    {
      fields: { webhook: 1, aggregate: 1, sequence: 1 },
      options: { name: 'order', partialFilterExpression: { 'job.due': IS_OPEN } },
    },
    { fields: { expires_at: 1 }, options: { name: 'expires_at' } },
  ]);
  const counts = createCounts();
  const source = createListSource<DeliveryField, DeliveryDocument, Delivery>({
    collection: collection as unknown as DocumentCollection,
    plan: PLAN,
    projection,
    read,
    counts,
  });
  /** Deliveries of simultaneous events are inserted together. */
  const insert = createBatches<DeliveryDocument, boolean>({
    max: MAX_BATCH,
    run: (documents) => insertNew(collection, documents),
  });

  return {
    collection,
    ...pendingDeliveries(collection),
    within: (webhook: string) => source.within(webhook),
    async findById(id: string, webhook: string): Promise<Delivery | undefined> {
      const found = await collection.findOne({ _id: id, webhook });
      return found === null ? undefined : read(found);
    },
    /** Adds those that are new. Returns the jobs of all. */
    async add(of: readonly NewDelivery[], replay?: string): Promise<JobState[]> {
      const jobs = of.map((it) => jobOf(it, replay));
      const documents = of.map((it, i) => newDocument(it, jobs[i] as JobState, replay));
      await Promise.all(documents.map(insert));
      // Also those that were there: perhaps nobody has announced them.
      return jobs;
    },
    /** Sends an event now, also one that was delivered, or waits for its next attempt. Returns the job. */
    async sendNow(of: NewDelivery): Promise<JobState> {
      const job = jobOf(of);
      const id = deliveryIdOf(of);
      const [due] = await this.add([of]);
      const now = { 'job.due': job.since, 'job.priority': job.priority, next_attempt_at: job.since };
      await collection.bulkWrite([
        { updateOne: { filter: { _id: id, status: { $ne: 'pending' } }, update: beginAgain(job) } },
        { updateOne: { filter: { _id: id, 'job.due': IS_OPEN, 'job.holder': null }, update: { $set: now } } },
      ]);
      return due ?? job;
    },
    /** Adds new deliveries, and begins ended ones again, once for each replay. Pending ones stay as they are. Returns the jobs of all. */
    async replay(of: readonly NewDelivery[], replay: string): Promise<JobState[]> {
      const [first] = of;
      if (first === undefined) return [];
      const due = await this.add(of, replay);
      const others = { _id: { $in: of.map(deliveryIdOf) }, replay: { $ne: replay } };
      const again = beginAgain(jobOf(first, replay), { replay });
      await collection.bulkWrite([
        { updateMany: { filter: { ...others, status: 'pending' }, update: { $set: { replay } } } },
        { updateMany: { filter: { ...others, status: { $ne: 'pending' } }, update: again } },
      ]);
      return due;
    },
    /** The first pending delivery before this one about the same aggregate. */
    async before({ webhook, aggregate, sequence, id }: Delivery): Promise<Delivery | undefined> {
      const found = await collection
        .find({ webhook, aggregate, sequence: { $lt: sequence }, 'job.due': IS_OPEN, _id: { $ne: id } })
        .sort({ sequence: 1 })
        .limit(1)
        .toArray();
      return found[0] && read(found[0]);
    },
    /** Counts the deliveries of a webhook that ended since with this status. */
    countSince: (
      webhook: string,
      status: 'succeeded' | 'failed',
      since: Date,
      limit?: number,
    ): Promise<number> =>
      collection.countDocuments(
        { webhook, status, updated_at: { $gt: since } },
        { hint: BY_END.options.name, ...(limit !== undefined && { limit }) },
      ),
    async removeAllOf(webhook: string): Promise<void> {
      await collection.deleteMany({ webhook });
    },
  };
}

/** Counts and ends the pending deliveries of owners and webhooks. */
function pendingDeliveries(collection: Collection<DeliveryDocument>) {
  return {
    /** How many deliveries of a webhook are pending; counts no further than `max`. */
    pendingOf: (webhook: string, max: number): Promise<number> =>
      collection.countDocuments({ webhook, 'job.due': IS_OPEN }, { limit: max, hint: 'order' }),
    /** Whether more deliveries of an owner than that are pending. */
    async hasMorePending(owner: string, than: number): Promise<boolean> {
      const hint = JOB_INDEXES.due.options.name;
      return (await collection.countDocuments(pendingFor(owner), { limit: than + 1, hint })) > than;
    },
    /** The webhook of an owner with the most pending deliveries. */
    async webhookWithMost(owner: string): Promise<string | undefined> {
      const found = await collection
        .aggregate<{ _id: string }>(
          [
            { $match: pendingFor(owner) },
            { $group: { _id: '$webhook', count: { $sum: 1 } } },
            { $sort: { count: -1 } },
            { $limit: 1 },
          ],
          { hint: JOB_INDEXES.due.options.name },
        )
        .toArray();
      return found[0]?._id;
    },
    /** Ends all pending deliveries of a webhook but those that are under way. */
    async skipPending(webhook: string, reason: string): Promise<void> {
      const ended = { status: 'skipped' as const, reason, next_attempt_at: null, job: null };
      await collection.updateMany(
        { webhook, 'job.due': IS_OPEN, 'job.holder': null },
        { $set: { ...ended, updated_at: new Date() }, $inc: { version: 1 } },
      );
    },
  };
}

const pendingFor = (owner: string) => ({
  ...{ 'job.lane': LANE, 'job.priority': { $in: [...PRIORITIES] }, 'job.owner': owner },
  'job.due': IS_OPEN,
});

/** Those of replays do not delay new events of the same owner. */
const jobOf = ({ owner }: NewDelivery, replay?: string): JobState =>
  newJob({ lane: LANE, priority: replay === undefined ? 'normal' : 'low', owner });

const beginAgain = (job: JobState, more: { replay?: string } = {}) => ({
  $set: {
    ...{ status: 'pending' as const, reason: null, begun_at: job.since, updated_at: job.since },
    ...{ next_attempt_at: job.since, job, ...more },
  },
  $inc: { version: 1 },
});

function newDocument(of: NewDelivery, job: JobState, replay?: string): DeliveryDocument {
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
    ...(replay !== undefined && { replay }),
    expires_at: new Date(now.getTime() + KEPT_DAYS * 86_400_000),
  };
}
