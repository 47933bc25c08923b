import { plainBody } from '@gatehouse/api/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import type { Integration } from '../integrations/integration.ts';
import type { CountNotifications } from '../notifications/store/notification-counts.ts';
import { mountAnalytics } from './analytics-routes.ts';
import { createAnalytics } from './analytics-service.ts';
import { ALL_CLIENTS, type BucketReader } from './bucket.ts';
import { createIngest, type Ingest } from './ingest.ts';
import { NOTIFICATIONS_SOURCE } from './metrics.ts';
import { createOwnedApplications } from './owned-applications.ts';
import { receivers } from './receivers.ts';
import { createRollup, type RollupPauses } from './rollup.ts';
import { ANALYTICS_COLLECTIONS } from './store/analytics-collections.ts';
import { createAnalyticsStore } from './store/analytics-store.ts';
import type { RetentionDays } from './store/rollup-store.ts';

/** The paths of this room, with the error bodies of what is below them. */
export const ANALYTICS_PATHS = [
  { prefix: '/api/v1/analytics', profiles: [{ name: 'plain', about: 'metrics', errorBody: plainBody }] },
];

/** When values were last added up longer ago than this, something is wrong. */
const STALE_MS = 60_000;

export type AnalyticsOptions = {
  keepDays: RetentionDays;
  pausesMs?: RollupPauses | undefined;
  countNotifications: CountNotifications;
};

/** Analytics: adding up what services count, and answering questions about it. */
export function createAnalyticsModule(
  { connection, identity, logger, subscribe, nats }: ResourceContext,
  { keepDays, pausesMs, countNotifications }: AnalyticsOptions,
): { parts: ResourceParts; ingest: Ingest; integration: Integration } {
  const store = createAnalyticsStore(connection, { keepDays });
  const rollup = createRollup({ store, logger, ...(pausesMs && { pausesMs }) });
  const ingest = createIngest({ store, logger, onAdded: rollup.added });
  const prepared = Promise.withResolvers<void>();
  const analytics = createAnalytics({
    store: withNotifications(store, countNotifications),
    ownedBy: createOwnedApplications(identity),
  });
  return {
    ingest,
    integration: {
      ...{ id: 'metrics', kind: 'metrics', name: 'Analytics' },
      async check() {
        const { facts: lastRun } = await store.state('minute');
        if (Date.now() - lastRun.getTime() > STALE_MS) throw new Error('not added up for a while');
      },
      explain: () => 'What services count has not been added up for a while.',
    },
    parts: {
      routes(app, { mountOptions }) {
        mountAnalytics(app, { analytics, mountOptions, keepDays });
      },
      prepare: async () => prepared.resolve(),
      background: [rollup, ...receivers({ ingest, prepared: prepared.promise, subscribe, nats, logger })],
      expiring: ANALYTICS_COLLECTIONS,
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
        const entries = [{ labels: { type, status }, counts: [n] }];
        yield { source: NOTIFICATIONS_SOURCE, client: ALL_CLIENTS, start, entries };
      }
    },
  };
}
