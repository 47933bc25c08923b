import { MAX_QUERY_MS } from '@gatehouse/data/database';
import type { Connection } from 'mongoose';
import {
  ALL_CLIENTS,
  type AnalyticsWriter,
  type BucketReader,
  type Entry,
  type RetentionDays,
} from '../bucket.ts';
import { type BucketDocument, DAY_MS, defineAnalyticsCollections } from './analytics-collections.ts';
import { labelsOfKey } from './label-keys.ts';
import { createOrderCounters } from './order-counters.ts';
import { addToCounters } from './usage-counters.ts';

/** A process that is silent for this long, while others send, was killed: counts that it had not sent are lost. */
const SENDER_GONE_MS = 30_000;

/** Analytics in MongoDB; defines its collections on the connection. */
export function createAnalyticsStore(
  connection: Connection,
  { keepDays }: { keepDays: RetentionDays },
): BucketReader & AnalyticsWriter {
  const { senders, buckets, orders } = defineAnalyticsCollections(connection);
  const orderCounters = createOrderCounters({ orders, buckets }, keepDays);

  /** Up to when all senders that live have sent what they counted. */
  async function sentUntil(): Promise<Date | undefined> {
    const all = await senders.find({}, { projection: { until: 1, seen_at: 1 } }).toArray();
    const lastSeen = Math.max(...all.map(({ seen_at: at }) => at.getTime()));
    const times = all
      .filter(({ seen_at: at }) => at.getTime() > lastSeen - SENDER_GONE_MS)
      .flatMap(({ until }) => (until === undefined ? [] : [until.getTime()]));
    return times.length === 0 ? undefined : new Date(Math.min(Date.now(), ...times));
  }

  return {
    async *buckets({ interval, sources, clients, from, to, latency }) {
      const found = buckets.find(
        {
          interval,
          client: clients === 'each' ? { $ne: ALL_CLIENTS } : { $in: [...clients] },
          source: { $in: [...sources] },
          start: { $gte: from, $lt: to },
        },
        {
          projection: {
            _id: 0,
            source: 1,
            client: 1,
            start: 1,
            counts: 1,
            amounts: 1,
            ...(latency ? { latencies: 1 } : {}),
          },
          hint: clients === 'each' ? 'source_start' : 'client_source_start',
          maxTimeMS: MAX_QUERY_MS,
        },
      );
      for await (const { source, client, start, ...values } of found) {
        yield { source, client, start, entries: entriesOf(values) };
      }
    },
    asOf: async (kind) =>
      kind === 'usage' ? sentUntil() : ((await orderCounters.pendingSince()) ?? new Date()),
    async addUsage(usage) {
      const { sender: _id, until, isFinal } = usage;
      await addToCounters(buckets, usage, keepDays);
      // Last: what it has sent is counted now.
      if (isFinal) {
        await senders.deleteOne({ _id });
        return;
      }
      const now = new Date();
      const seen = { $max: { ...(until === null ? {} : { until }), seen_at: now } };
      const kept = { $set: { expires_at: new Date(now.getTime() + DAY_MS) } };
      await senders.updateOne({ _id }, { ...seen, ...kept }, { upsert: true });
    },
    addOrder: orderCounters.add,
    countOrders: orderCounters.countPending,
  };
}

function entriesOf({
  counts = {},
  latencies = {},
  amounts = {},
}: Pick<BucketDocument, 'counts' | 'latencies' | 'amounts'>): Entry[] {
  return Object.entries(counts).map(([key, numbers]) => ({
    labels: labelsOfKey(key),
    counts: numbers,
    ...(latencies[key] && { latency: latencies[key] }),
    ...(amounts[key] === undefined ? {} : { amount: amounts[key] }),
  }));
}
