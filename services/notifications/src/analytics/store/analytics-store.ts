import { MAX_QUERY_MS } from '@gatehouse/data/database';
import type { Connection } from 'mongoose';
import {
  ALL_CLIENTS,
  type AnalyticsWriter,
  type Bucket,
  type BucketReader,
  type Fact,
  INTERVALS,
  type RollupStore,
  type StoredBatch,
} from '../bucket.ts';
import { type BatchDocument, defineAnalyticsCollections } from './analytics-collections.ts';
import { isNew } from './is-new.ts';
import { createRollupStore, type RetentionDays } from './rollup-store.ts';

/** Longer than batches may be late, since a minute is computed from all of its batches. */
const BATCHES_KEPT_MS = 8 * 3_600_000;
const DAY_MS = 86_400_000;

/** Analytics in MongoDB; defines its collections on the connection. */
export function createAnalyticsStore(
  connection: Connection,
  { keepDays }: { keepDays: RetentionDays },
): RollupStore & BucketReader & AnalyticsWriter {
  const collections = defineAnalyticsCollections(connection);
  const { batches, facts, buckets } = collections;
  return {
    ...createRollupStore(collections, { keepDays }),
    async *buckets({ interval, sources, clients, from, to, latency }) {
      yield* buckets.find<Bucket>(
        {
          interval,
          client: clients === 'each' ? { $ne: ALL_CLIENTS } : { $in: [...clients] },
          source: { $in: [...sources] },
          start: { $gte: from, $lt: to },
        },
        {
          projection: {
            ...{ _id: 0, source: 1, client: 1, start: 1 },
            ...(latency ? { entries: 1 } : { 'entries.labels': 1, 'entries.counts': 1, 'entries.amount': 1 }),
          },
          hint: clients === 'each' ? 'source_start' : 'client_source_start',
          maxTimeMS: MAX_QUERY_MS,
        },
      );
    },
    async firstMissing(interval, kind) {
      const lower = INTERVALS[INTERVALS.indexOf(interval) - 1];
      if (lower === undefined) return undefined;
      if (kind === 'facts') {
        const recent = { pending: interval, at: { $gt: new Date(Date.now() - DAY_MS) } };
        const fact = await facts.findOne(recent, { projection: { at: 1 }, sort: { pending: 1, at: 1 } });
        return fact?.at;
      }
      const pending = { interval: lower, client: ALL_CLIENTS, pending: true } as const;
      const bucket = await buckets.findOne(pending, {
        ...{ projection: { start: 1 }, sort: { start: 1 }, hint: 'pending_start' },
      });
      return bucket?.start;
    },
    async addBatch({ id, isFinal, series, ...batch }: StoredBatch): Promise<void> {
      const minutes = [...new Set(series.map(({ start }) => start.getTime()))].map((ms) => new Date(ms));
      const stored: BatchDocument = {
        _id: id,
        ...batch,
        is_final: isFinal,
        minutes,
        series: series.map(({ start, client, ...entry }) => ({ start, client, entry })),
        pending: true,
        expires_at: new Date(Date.now() + BATCHES_KEPT_MS),
      };
      await isNew(batches.insertOne(stored));
    },
    async addFact({ topic, id, version, at, labels, amount = '0' }: Fact): Promise<void> {
      const _id = `${topic} ${id}`;
      const expires = new Date(at.getTime() + keepDays.day * DAY_MS);
      const fact = { topic, version, at, labels: { ...labels }, amount, expires_at: expires };
      const older = { _id, version: { $lt: version } };
      const update = { $set: { ...fact, pending: [...INTERVALS] } };
      // What is known is not older, or another version has just been stored.
      if (!(await isNew(facts.updateOne(older, update, { upsert: true }))))
        await facts.updateOne(older, update);
    },
  };
}
