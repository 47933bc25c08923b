import type { Migration, MigrationContext, Write } from '@gatehouse/data/migrations';
import { histogramOf, type Interval, ORDERS_SOURCE } from './analytics/bucket.ts';
import {
  type BucketDocument,
  bucketId,
  type OrderDocument,
} from './analytics/store/analytics-collections.ts';
import { keyOfLabels } from './analytics/store/label-keys.ts';

/** In the order in which they are applied. */
export const NOTIFICATIONS_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'take over analytics that were added up from batches', run: takeOverAnalytics },
];

/** How many documents are copied at a time. */
const BATCH = 500;

type FormerEntry = { labels: Record<string, string>; counts: number[]; latency?: number[] };
type FormerBucket = {
  _id: string;
  interval: Interval;
  source: string;
  client: string;
  start: Date;
  entries: FormerEntry[];
  expires_at: Date;
};
type FormerFact = {
  _id: string;
  version: number;
  at: Date;
  labels: { status: string; currency: string };
  amount: string;
  expires_at: Date;
};

/** Copies what the release before goes on with. Orders are counted again, as they always are as a whole. */
async function takeOverAnalytics({ connection }: MigrationContext): Promise<void> {
  async function copy<D extends { _id: string }>(
    from: string,
    to: string,
    filter: object,
    convert: (document: D) => { _id: string } & object,
  ): Promise<void> {
    const target = connection.collection<{ _id: string }>(to);
    let writes: Write[] = [];
    const write = async () => {
      if (writes.length > 0) await target.bulkWrite(writes as never, { ordered: false });
      writes = [];
    };
    for await (const document of connection.collection<D>(from).find(filter as never)) {
      const { _id, ...fields } = convert(document as unknown as D);
      writes.push({ updateOne: { filter: { _id }, update: { $setOnInsert: fields }, upsert: true } });
      if (writes.length >= BATCH) await write();
    }
    await write();
  }
  const usage = { source: { $ne: ORDERS_SOURCE } };
  await copy<FormerBucket>('analytics_buckets', 'analytics_counters', usage, bucketOf);
  await copy<FormerFact>('analytics_facts', 'analytics_orders', { topic: ORDERS_SOURCE }, orderOf);
}

function bucketOf({ interval, source, client, start, entries, expires_at }: FormerBucket): BucketDocument {
  const values = entries.map((entry) => [keyOfLabels(entry.labels), entry] as const);
  const counts = values.map(([key, it]) => [key, Object.fromEntries(it.counts.entries())]);
  const latencies = values.map(([key, { latency = [] }]) => [key, histogramOf(latency)]);
  const bucket = { interval, source, client, start };
  return {
    _id: bucketId(bucket),
    ...bucket,
    expires_at,
    counts: Object.fromEntries(counts),
    latencies: Object.fromEntries(latencies),
  };
}

function orderOf({ _id, version, at, labels, amount, expires_at }: FormerFact): OrderDocument {
  const { status, currency } = labels;
  const id = _id.slice(`${ORDERS_SOURCE} `.length);
  return { _id: id, version, at, status, currency, amount, pending_since: new Date(), expires_at };
}
