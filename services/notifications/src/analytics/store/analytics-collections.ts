import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';
import type { Entry, Interval, RollupState } from '../bucket.ts';

export type BatchDocument = {
  _id: string;
  service: string;
  sender: string;
  until: Date | null;
  is_final: boolean;
  minutes: Date[];
  series: { start: Date; client: string; entry: Entry }[];
  pending?: true;
  expires_at: Date;
};
export type FactDocument = {
  _id: string;
  topic: string;
  version: number;
  at: Date;
  labels: Record<string, string>;
  amount: string;
  /** The intervals into which it is still to be added up. */
  pending: Interval[];
  expires_at: Date;
};
export type BucketDocument = {
  _id: string;
  interval: Interval;
  source: string;
  client: string;
  start: Date;
  entries: Entry[];
  revision: number;
  /** Whether it is still to be added up into the next interval. */
  pending?: true;
  expires_at: Date;
};
export type SenderDocument = { _id: string; until: Date; seen_at: Date; expires_at: Date };
export type StateDocument = { _id: Interval } & RollupState;

const EXPIRY = { fields: { expires_at: 1 }, options: { name: 'expires_at' } } as const;
const IF_PENDING = { partialFilterExpression: { pending: true } } as const;

/** The collections whose documents expire. */
export const ANALYTICS_COLLECTIONS = [
  'analytics_batches',
  'analytics_facts',
  'analytics_buckets',
  'analytics_senders',
];

export type AnalyticsCollections = ReturnType<typeof defineAnalyticsCollections>;

/** Defines the collections of analytics on the connection. */
export function defineAnalyticsCollections(connection: Connection) {
  return {
    batches: defineCollection<BatchDocument>(connection, 'analytics_batches', [
      { fields: { service: 1, minutes: 1 }, options: { name: 'service_minutes' } },
      { fields: { pending: 1 }, options: { name: 'pending', ...IF_PENDING } },
      EXPIRY,
    ]),
    facts: defineCollection<FactDocument>(connection, 'analytics_facts', [
      { fields: { topic: 1, at: 1 }, options: { name: 'topic_at' } },
      { fields: { pending: 1, at: 1 }, options: { name: 'pending_at' } },
      EXPIRY,
    ]),
    buckets: defineCollection<BucketDocument>(connection, 'analytics_buckets', [
      { fields: { interval: 1, client: 1, source: 1, start: 1 }, options: { name: 'client_source_start' } },
      { fields: { interval: 1, source: 1, start: 1 }, options: { name: 'source_start' } },
      { fields: { interval: 1, pending: 1 }, options: { name: 'pending', ...IF_PENDING } },
      { fields: { interval: 1, client: 1, start: 1 }, options: { name: 'pending_start', ...IF_PENDING } },
      EXPIRY,
    ]),
    senders: defineCollection<SenderDocument>(connection, 'analytics_senders', [EXPIRY]),
    states: connection.collection<StateDocument>('analytics_state'),
  };
}
