import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';
import type { Interval, RetentionDays } from '../bucket.ts';

/** The values of an interval, source and client; those of each set of labels are below its key (label-keys.ts). */
export type BucketDocument = {
  _id: string;
  interval: Interval;
  source: string;
  client: string;
  start: Date;
  counts?: Record<string, Record<string, number>>;
  latencies?: Record<string, Record<string, number>>;
  amounts?: Record<string, string>;
  /** The last batch of each sender that is counted. */
  senders?: Record<string, string>;
  /** The generation of the counts of orders, which are counted as a whole: raised each time. */
  revision?: number;
  expires_at: Date;
};
export type OrderDocument = {
  _id: string;
  version: number;
  at: Date;
  status: string;
  currency: string;
  amount: string;
  /** When it changed, until it is counted. */
  pending_since?: Date;
  expires_at: Date;
};
export type SenderDocument = { _id: string; until?: Date; seen_at: Date; expires_at: Date };

export const DAY_MS = 86_400_000;
const EXPIRY = { fields: { expires_at: 1 }, options: { name: 'expires_at' } } as const;

/** The collections whose documents expire. */
export const ANALYTICS_COLLECTIONS = ['analytics_orders', 'analytics_counters', 'analytics_senders'];

export type AnalyticsCollections = ReturnType<typeof defineAnalyticsCollections>;

/** Defines the collections of analytics on the connection. */
export function defineAnalyticsCollections(connection: Connection) {
  return {
    orders: defineCollection<OrderDocument>(connection, 'analytics_orders', [
      { fields: { at: 1 }, options: { name: 'at' } },
      {
        fields: { pending_since: 1 },
        options: { name: 'pending_since', partialFilterExpression: { pending_since: { $gt: new Date(0) } } },
      },
      EXPIRY,
    ]),
    buckets: defineCollection<BucketDocument>(connection, 'analytics_counters', [
      { fields: { interval: 1, client: 1, source: 1, start: 1 }, options: { name: 'client_source_start' } },
      { fields: { interval: 1, source: 1, start: 1 }, options: { name: 'source_start' } },
      EXPIRY,
    ]),
    senders: defineCollection<SenderDocument>(connection, 'analytics_senders', [EXPIRY]),
  };
}

type BucketOf = Pick<BucketDocument, 'interval' | 'source' | 'client' | 'start'>;

/** The id of the bucket that begins at `start`. */
export function bucketId({ interval, source, client, start }: BucketOf): string {
  return `${interval} ${start.toISOString()} ${source} ${client}`;
}

/** The same bucket without values. */
export function emptyBucket(of: BucketOf, keepDays: RetentionDays): BucketDocument {
  const { interval, start } = of;
  return {
    _id: bucketId(of),
    ...of,
    expires_at: new Date(start.getTime() + keepDays[interval] * DAY_MS),
  };
}
