import {
  ALL_CLIENTS,
  type Entry,
  INTERVAL_MS,
  INTERVALS,
  type Interval,
  type Pending,
  type RollupState,
  type RollupStore,
  startOf,
  TOPICS,
  type Unit,
} from '../bucket.ts';
import type { AnalyticsCollections, BatchDocument, BucketDocument } from './analytics-collections.ts';
import { isNew } from './is-new.ts';

/** How many days the values of each interval are kept. */
export type RetentionDays = Readonly<Record<Interval, number>>;

type Mark =
  | { kind: 'batch'; batch: Omit<BatchDocument, 'series'> }
  | { kind: 'bucket'; id: string; revision: number }
  | { kind: 'fact'; id: string; version: number };

/** A process that has been silent for so long is taken to have been killed: what it had not sent is lost. */
const SENDER_GONE_MS = 30_000;
const PAGE = 500;
const DAY_MS = 86_400_000;
const IS_TOPIC: ReadonlySet<string> = new Set(TOPICS);

/** What adding up reads and writes in MongoDB. */
export function createRollupStore(
  { batches, facts, buckets, senders, states }: AnalyticsCollections,
  { keepDays }: { keepDays: RetentionDays },
): RollupStore {
  /** From the interval below; minutes come from batches. */
  const lowerOf = (interval: Interval) => INTERVALS[INTERVALS.indexOf(interval) - 1];

  async function pendingUsage(interval: Interval): Promise<{ units: Unit[]; marks: Mark[] }> {
    const lower = lowerOf(interval);
    if (lower === undefined) {
      const found = await batches
        .find({ pending: true }, { projection: { series: 0 }, limit: PAGE })
        .toArray();
      const units = found.flatMap(({ service: source, minutes }) =>
        minutes.map((start) => ({ source, start })),
      );
      return { units, marks: found.map((batch) => ({ kind: 'batch', batch })) };
    }
    const found = await buckets
      .find(
        { interval: lower, pending: true },
        { projection: { source: 1, start: 1, revision: 1 }, limit: PAGE * 10 },
      )
      .toArray();
    return {
      units: found.map(({ source, start }) => ({
        source,
        start: new Date(startOf(interval, start.getTime())),
      })),
      marks: found.map(({ _id: id, revision }) => ({ kind: 'bucket', id, revision })),
    };
  }

  async function pendingFacts(interval: Interval): Promise<{ units: Unit[]; marks: Mark[] }> {
    const found = await facts
      .find({ pending: interval }, { projection: { topic: 1, at: 1, version: 1 }, limit: PAGE })
      .toArray();
    return {
      units: found.map(({ topic, at }) => ({
        source: topic,
        start: new Date(startOf(interval, at.getTime())),
      })),
      marks: found.map(({ _id: id, version }) => ({ kind: 'fact', id, version })),
    };
  }

  async function settleBatches(settled: readonly Omit<BatchDocument, 'series'>[]): Promise<void> {
    if (settled.length === 0) return;
    const now = new Date();
    const gone = settled.filter(({ is_final: isFinal }) => isFinal).map(({ sender }) => sender);
    await senders.bulkWrite(
      settled.map(({ sender, until }) => ({
        updateOne: {
          filter: { _id: sender },
          update: {
            $max: { ...(until === null ? {} : { until }), seen_at: now },
            $set: { expires_at: new Date(now.getTime() + DAY_MS) },
          },
          upsert: true,
        },
      })),
      { ordered: false },
    );
    if (gone.length > 0) await senders.deleteMany({ _id: { $in: gone } });
    await batches.updateMany({ _id: { $in: settled.map(({ _id }) => _id) } }, { $unset: { pending: '' } });
  }

  async function state(interval: Interval): Promise<RollupState> {
    const found = await states.findOne({ _id: interval });
    const never = new Date(0);
    return { usage: found?.usage ?? never, facts: found?.facts ?? never };
  }

  async function factEntries(interval: Interval, { source: topic, start }: Unit): Promise<Entry[]> {
    const end = new Date(start.getTime() + INTERVAL_MS[interval]);
    const groups = await facts
      .aggregate<{ _id: Entry['labels']; count: number; amount: { toString(): string } }>([
        { $match: { topic, at: { $gte: start, $lt: end } } },
        { $group: { _id: '$labels', count: { $sum: 1 }, amount: { $sum: { $toDecimal: '$amount' } } } },
      ])
      .toArray();
    return groups.map(({ _id: labels, count, amount }) => ({
      labels,
      counts: [count],
      amount: amount.toString(),
    }));
  }

  /** Whether it was still at the revision before. */
  async function replaceOne(bucket: BucketDocument): Promise<boolean> {
    const { _id, revision } = bucket;
    if (revision > 1) {
      const { matchedCount } = await buckets.replaceOne({ _id, revision: revision - 1 }, bucket);
      return matchedCount === 1;
    }
    return isNew(buckets.insertOne(bucket));
  }

  return {
    async pending(interval) {
      const found = await Promise.all([pendingUsage(interval), pendingFacts(interval)]);
      const units = new Map(
        found.flatMap((part) => part.units).map((unit) => [`${unit.source} ${unit.start.getTime()}`, unit]),
      );
      const marks = found.flatMap((part) => part.marks);
      return { units: [...units.values()], marks, isAll: marks.length === 0 };
    },
    async settle(interval, pending: Pending) {
      const marks = pending.marks as readonly Mark[];
      await settleBatches(marks.flatMap((mark) => (mark.kind === 'batch' ? [mark.batch] : [])));
      const settledBuckets = marks.flatMap((mark) => (mark.kind === 'bucket' ? [mark] : []));
      if (settledBuckets.length > 0) {
        await buckets.bulkWrite(
          settledBuckets.map(({ id: _id, revision }) => ({
            updateOne: { filter: { _id, revision }, update: { $unset: { pending: '' } } },
          })),
          { ordered: false },
        );
      }
      const settledFacts = marks.flatMap((mark) => (mark.kind === 'fact' ? [mark] : []));
      if (settledFacts.length > 0) {
        await facts.bulkWrite(
          settledFacts.map(({ id: _id, version }) => ({
            updateOne: { filter: { _id, version }, update: { $pull: { pending: interval } } },
          })),
          { ordered: false },
        );
      }
    },
    async revisions(interval, { source, start }) {
      const found = await buckets
        .find({ interval, source, start }, { projection: { client: 1, revision: 1 } })
        .toArray();
      return new Map(found.map(({ client, revision }) => [client, revision]));
    },
    async rows(interval, unit) {
      if (IS_TOPIC.has(unit.source)) return [{ client: '', entries: await factEntries(interval, unit) }];
      const { source, start } = unit;
      const lower = lowerOf(interval);
      if (lower === undefined) {
        const found = batches.find({ service: source, minutes: start }, { projection: { series: 1 } });
        const rows: { client: string; entries: Entry[] }[] = [];
        for await (const { series } of found) {
          for (const { start: at, client, entry } of series) {
            if (at.getTime() === start.getTime()) rows.push({ client, entries: [entry] });
          }
        }
        return rows;
      }
      const end = new Date(start.getTime() + INTERVAL_MS[interval]);
      return buckets
        .find<{ client: string; entries: Entry[] }>(
          { interval: lower, source, start: { $gte: start, $lt: end }, client: { $ne: ALL_CLIENTS } },
          { projection: { client: 1, entries: 1 } },
        )
        .toArray();
    },
    async replace(interval, computed, revisions) {
      const results = await Promise.all(
        computed.map(({ source, client, start, entries }) => {
          const revision = revisions.get(client) ?? 0;
          return replaceOne({
            _id: `${interval} ${start.toISOString()} ${source} ${client}`,
            ...{ interval, source, client, start, entries: [...entries], revision: revision + 1 },
            ...(interval === 'day' || IS_TOPIC.has(source) ? {} : { pending: true as const }),
            expires_at: new Date(start.getTime() + keepDays[interval] * DAY_MS),
          });
        }),
      );
      return results.every(Boolean);
    },
    async complete(interval, state) {
      await states.updateOne({ _id: interval }, { $max: { ...state } }, { upsert: true });
    },
    state,
    async sentUntil(now) {
      const live = { seen_at: { $gt: new Date(now.getTime() - SENDER_GONE_MS) } };
      const found = await senders.find(live, { projection: { until: 1 } }).toArray();
      const times = found.flatMap(({ until }) => (until === undefined ? [] : [until.getTime()]));
      return new Date(Math.min(now.getTime(), ...times));
    },
  };
}
