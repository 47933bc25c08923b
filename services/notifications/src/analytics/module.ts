import { plainBody } from '@gatehouse/api/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { usageSubject } from '@gatehouse/server/usage/usage-batch';
import type { Integration } from '../integrations/integration.ts';
import type { CountNotifications } from '../notifications/store/notification-counts.ts';
import { type Received, receivers } from '../receivers.ts';
import { mountAnalytics } from './analytics-routes.ts';
import { createAnalytics } from './analytics-service.ts';
import { ALL_CLIENTS, type AnalyticsWriter, type BucketReader, type RetentionDays } from './bucket.ts';
import { createIngest, type Ingest, type TakeLog } from './ingest.ts';
import { createLimitUse } from './limit-use.ts';
import { NOTIFICATIONS_SOURCE } from './metrics.ts';
import { ANALYTICS_COLLECTIONS } from './store/analytics-collections.ts';
import { createAnalyticsStore } from './store/analytics-store.ts';

const USAGE = usageSubject('*');
const HOUR_MS = 3_600_000;

/** The paths of this module, with the error bodies of their routes. */
export const ANALYTICS_PATHS = [
  { prefix: '/api/v1/analytics', profiles: [{ name: 'plain', about: 'metrics', errorBody: plainBody }] },
];

/** A service sends counts at least every ten seconds; if none arrives for this long, something is wrong. */
const STALE_MS = 60_000;
/**
 * The pauses between two countings of orders: `least` while orders change, when counting takes at most a tenth of the time, and `idle`
 * otherwise.
 */
const COUNT_ORDERS_MS = { least: 2000, idle: 300_000 };

export type AnalyticsOptions = {
  keepDays: RetentionDays;
  countNotifications: CountNotifications;
  /** The client ids of a person's applications. */
  ownedBy(userId: string): Promise<readonly string[]>;
  /** Stores the requests that come with the counts. */
  takeLog: TakeLog;
};

/** Analytics: the counts of services are aggregated, and returned as metrics. */
export function createAnalyticsModule(
  { connection, logger, subscribe, nats }: ResourceContext,
  { keepDays, countNotifications, ownedBy, takeLog }: AnalyticsOptions,
): { parts: ResourceParts; integration: Integration } {
  const store = createAnalyticsStore(connection, { keepDays });
  const counting = createOrderCounting(store, logger);
  const ingest = createIngest({ store, logger, takeLog, onOrder: counting.added });
  const startedAt = Date.now();
  const prepared = Promise.withResolvers<void>();
  const analytics = createAnalytics({
    store: withNotifications(store, countNotifications),
    ownedBy,
  });
  return {
    integration: {
      id: 'metrics',
      kind: 'metrics',
      name: 'Analytics',
      async check() {
        const asOf = (await store.asOf('usage'))?.getTime() ?? 0;
        if (Date.now() - Math.max(asOf, startedAt) > STALE_MS) throw new Error('no requests are counted');
      },
      explain: () => 'The counts of requests have not arrived for a while.',
    },
    parts: {
      routes(app, { mountOptions }) {
        const readLimitUse = createLimitUse({ store, ownedBy });
        mountAnalytics(app, { analytics, readLimitUse, mountOptions, keepDays });
      },
      prepare: async () => prepared.resolve(),
      background: [
        counting,
        ...receivers(receivedBy(ingest), { prepared: prepared.promise, subscribe, nats, logger }),
      ],
      expiring: ANALYTICS_COLLECTIONS,
    },
  };
}

/** Counts the orders that have changed: soon after this process has stored them, and later those that another process has left. */
function createOrderCounting(store: Pick<AnalyticsWriter, 'countOrders'>, logger: Logger) {
  /** Whether the last run found none, and none was stored since. */
  let isIdle = false;
  const task = createPeriodicTask({
    async run(signal) {
      isIdle = true;
      if (await store.countOrders(signal)) isIdle = false;
    },
    everyMs: (lastRunMs) => (isIdle ? COUNT_ORDERS_MS.idle : Math.max(COUNT_ORDERS_MS.least, 10 * lastRunMs)),
    immediately: true,
    onError(error) {
      isIdle = false;
      logger.warn({ err: error }, 'orders could not be counted; trying again');
    },
  });
  return {
    ...task,
    added() {
      if (isIdle) task.wake();
      isIdle = false;
    },
  };
}

/** The reader, and with it the notifications, which are counted where they are. */
function withNotifications(reader: BucketReader, count: CountNotifications): BucketReader {
  return {
    ...reader,
    async *buckets(query) {
      if (!query.sources.includes(NOTIFICATIONS_SOURCE)) return yield* reader.buckets(query);
      for (const { start, type, status, count: n } of await count(query)) {
        const entries = [{ labels: { type, status }, counts: { 0: n } }];
        yield { source: NOTIFICATIONS_SOURCE, client: ALL_CLIENTS, start, entries };
      }
    },
  };
}

/** The events of other services that analytics receives; stored when they are handled. */
const receivedBy = (ingest: Ingest): Received[] => [
  {
    subject: USAGE,
    // The counters rely on the order of each sender's batches.
    stream: { name: 'ANALYTICS', subject: USAGE, maxAgeMs: 6 * HOUR_MS, inOrder: true },
    durable: 'notifications',
    handle: ({ subject, data }) => ingest.takeUsage(subject.split('.').at(-1) ?? '', data),
  },
  {
    subject: 'commerce.order.*',
    stream: { name: 'COMMERCE', account: 'COMMERCE' },
    durable: 'notifications_analytics',
    handle: ingest.takeOrder,
  },
];
