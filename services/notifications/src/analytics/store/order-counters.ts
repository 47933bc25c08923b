import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import {
  ALL_CLIENTS,
  type CountedOrder,
  INTERVAL_MS,
  INTERVALS,
  type Interval,
  ORDERS_SOURCE,
  type RetentionDays,
  startOf,
} from '../bucket.ts';
import {
  type AnalyticsCollections,
  type BucketDocument,
  DAY_MS,
  emptyBucket,
  type OrderDocument,
} from './analytics-collections.ts';
import { keyOfLabels } from './label-keys.ts';

/** Orders that are read at a time. */
const PAGE = 500;
/** The shorter interval from which the buckets of an interval are added up: a day can have a million orders, but has 24 hours. */
const PARTS: Partial<Record<Interval, Interval>> = { hour: 'minute', day: 'hour' };
/** How long before its expiry a bucket is no longer used, since it may be removed while it is read. */
const EXPIRY_MARGIN_MS = 3_600_000;

/** The orders that have changed and are not counted. */
const PENDING = { pending_since: { $gt: new Date(0) } };

type TimeRange = { $gte: Date; $lt: Date };
type Values = Required<Pick<BucketDocument, 'counts' | 'amounts'>>;

/**
 * Counts orders by the interval in which they were placed, each with its latest version. The status under which an order was counted before is
 * not known where the process died halfway: so a bucket is counted as a whole, a minute from its orders and longer intervals from
 * shorter ones, and replaced only at the revision that it had before they were read. An order that has changed is marked until all
 * of its buckets are counted.
 */
export function createOrderCounters(
  { orders, buckets }: Pick<AnalyticsCollections, 'orders' | 'buckets'>,
  keepDays: RetentionDays,
) {
  function valuesOf(interval: Interval, start: Date): Promise<Values> {
    const range = { $gte: start, $lt: new Date(start.getTime() + INTERVAL_MS[interval]) };
    const part = PARTS[interval];
    const isKept =
      part !== undefined && start.getTime() + keepDays[part] * DAY_MS > Date.now() + EXPIRY_MARGIN_MS;
    return isKept ? sumOf(part, range) : valuesOfOrders(range);
  }

  /** The sum of the buckets in a time range. */
  async function sumOf(interval: Interval, start: TimeRange): Promise<Values> {
    const counts: Record<string, { 0: number }> = {};
    const amounts: Record<string, string> = {};
    const found = buckets.find(
      { interval, source: ORDERS_SOURCE, start },
      { projection: { counts: 1, amounts: 1 } },
    );
    for await (const bucket of found) {
      for (const [key, { 0: count = 0 }] of Object.entries(bucket.counts ?? {})) {
        counts[key] = { 0: (counts[key]?.[0] ?? 0) + count };
        amounts[key] = String(BigInt(amounts[key] ?? 0) + BigInt(bucket.amounts?.[key] ?? 0));
      }
    }
    return { counts, amounts };
  }

  async function valuesOfOrders(at: TimeRange): Promise<Values> {
    const groups = await orders
      .aggregate<{ _id: Pick<CountedOrder, 'status' | 'currency'>; count: number; amount: object }>([
        { $match: { at } },
        {
          $group: {
            _id: { status: '$status', currency: '$currency' },
            count: { $sum: 1 },
            amount: { $sum: { $toDecimal: '$amount' } },
          },
        },
      ])
      .toArray();
    const values = groups.map(({ _id, ...value }) => [keyOfLabels(_id), value] as const);
    return {
      counts: Object.fromEntries(values.map(([key, { count }]) => [key, { 0: count }])),
      amounts: Object.fromEntries(values.map(([key, { amount }]) => [key, String(amount)])),
    };
  }

  async function count(interval: Interval, start: Date): Promise<void> {
    const bucket = emptyBucket({ interval, source: ORDERS_SOURCE, client: ALL_CLIENTS, start }, keepDays);
    const { _id } = bucket;
    for (;;) {
      const before = await buckets.findOne({ _id }, { projection: { revision: 1 } });
      const revision = before?.revision ?? 0;
      const next = { ...bucket, ...(await valuesOf(interval, start)), revision: revision + 1 };
      if (before === null) {
        if (await isNew(buckets.insertOne(next))) return;
      } else if ((await buckets.replaceOne({ _id, revision }, next)).matchedCount === 1) return;
    }
  }

  return {
    /** Stores an order to be counted, unless a version is known that is not older. */
    async add({ id: _id, at, ...order }: CountedOrder): Promise<void> {
      const expires_at = new Date(at.getTime() + keepDays.day * DAY_MS);
      const older = { _id, version: { $lt: order.version } };
      const update = { $set: { ...order, at, expires_at, pending_since: new Date() } };
      // The stored version is not older, or another version has just been stored.
      if (!(await isNew(orders.updateOne(older, update, { upsert: true })))) {
        await orders.updateOne(older, update);
      }
    },

    /** Counts the orders that have changed; those that change meanwhile are left to the next call. Resolves to whether there were any. */
    async countPending(signal?: AbortSignal): Promise<boolean> {
      const total = await orders.countDocuments(PENDING);
      for (let counted = 0; counted < total && !signal?.aborted; counted += PAGE) {
        const found = await pendingOrders({ at: 1, version: 1 }).limit(PAGE).toArray();
        for (const interval of INTERVALS) {
          const starts = new Set(found.map(({ at }) => startOf(interval, at.getTime())));
          for (const start of starts) await count(interval, new Date(start));
        }
        const operations = found.map(({ _id, version }) => ({
          updateOne: { filter: { _id, version }, update: { $unset: { pending_since: '' as const } } },
        }));
        if (operations.length > 0) await orders.bulkWrite(operations, { ordered: false });
      }
      return total > 0;
    },

    /** The time since which the first uncounted order waits; undefined if there is none. */
    async pendingSince(): Promise<Date | undefined> {
      const [first] = await pendingOrders({ pending_since: 1 }).limit(1).toArray();
      return first?.pending_since;
    },
  };

  function pendingOrders(projection: Partial<Record<keyof OrderDocument, 1>>) {
    return orders.find(PENDING, { projection, sort: { pending_since: 1 } });
  }
}

/** Whether an insertion or upsert succeeded; false if there is a document with this id already. */
async function isNew(writing: Promise<unknown>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (duplicateKeyField(error) === '_id') return false;
    throw error;
  }
}
