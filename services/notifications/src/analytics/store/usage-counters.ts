import { duplicateKeyOperations } from '@gatehouse/data/duplicate-key';
import {
  ALL_CLIENTS,
  type CountedUsage,
  type Entry,
  INTERVALS,
  type RetentionDays,
  startOf,
} from '../bucket.ts';
import { type AnalyticsCollections, type BucketDocument, emptyBucket } from './analytics-collections.ts';
import { keyOfLabels } from './label-keys.ts';

/**
 * Adds a batch to the buckets of its minutes, hours and days, of each client and of all together. A bucket has the id of the last batch of
 * each sender, and the ids of a sender ascend, so that a batch that comes again changes nothing, also after a crash halfway. No batch of a
 * sender may be added before the previous one has been added as a whole.
 */
export async function addToCounters(
  buckets: AnalyticsCollections['buckets'],
  usage: CountedUsage,
  keepDays: RetentionDays,
): Promise<void> {
  const lastBatch = `senders.${usage.sender}`;
  const updates = incrementsOf(usage, keepDays).map(({ bucket: { _id, ...fields }, increments }) => ({
    filter: { _id, [lastBatch]: { $not: { $gte: usage.id } } },
    update: { $setOnInsert: fields, $inc: increments, $set: { [lastBatch]: usage.id } },
  }));
  if (updates.length === 0) return;
  const write = (some: typeof updates, upsert: boolean) =>
    buckets.bulkWrite(some.map((update) => ({ updateOne: { ...update, upsert } })) as never, {
      ordered: false,
    });
  try {
    await write(updates, true);
  } catch (error) {
    // These buckets exist: they have the batch, or somebody else has just made them.
    const existing = duplicateKeyOperations(error).flatMap((index) => updates[index] ?? []);
    await write(existing, false);
  }
}

/** The increments of a batch for each bucket, by the paths of its fields. */
function incrementsOf({ service: source, series }: CountedUsage, keepDays: RetentionDays) {
  const all = new Map<string, { bucket: BucketDocument; increments: Record<string, number> }>();
  for (const { start: minute, client, isOnlyOfClient, ...entry } of series) {
    const numbers = numbersOf(entry);
    for (const interval of INTERVALS) {
      const start = new Date(startOf(interval, minute.getTime()));
      for (const each of isOnlyOfClient ? [client] : [client, ALL_CLIENTS]) {
        const bucket = emptyBucket({ interval, source, client: each, start }, keepDays);
        const { increments } = all.get(bucket._id) ?? { increments: {} as Record<string, number> };
        all.set(bucket._id, { bucket, increments });
        for (const [path, n] of numbers) increments[path] = (increments[path] ?? 0) + n;
      }
    }
  }
  return [...all.values()];
}

/** The numbers of an entry, by the paths of their fields in a bucket. */
function numbersOf({ labels, counts, latency = {} }: Entry): [string, number][] {
  const key = keyOfLabels(labels);
  const below = (field: string, numbers: Entry['counts']) =>
    Object.entries(numbers).map(([i, n]): [string, number] => [`${field}.${key}.${i}`, n]);
  return [...below('counts', counts), ...below('latencies', latency)].filter(([, n]) => n > 0);
}
