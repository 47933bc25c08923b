import type { Caller } from '@gatehouse/tokens/caller';
import { visibleClients } from './analytics-service.ts';
import { type BucketReader, INTERVAL_MS, type Interval, NO_CLIENT, startOf } from './bucket.ts';
import { addPart, emptySum, METRICS, type Metric, partsOf } from './metrics.ts';

/** The number of applications in a response. */
export const MAX_LIMIT_USES = 100;

/** How near an application came to the rate limit, and how often it was beyond. */
export type LimitUse = {
  client: string;
  /** The service of the busiest minute of the last hour. */
  service: string | null;
  busiestMinute: number;
  /** The requests of the last 24 hours that were answered with 429. */
  rateLimited: number;
};

/** Returns the applications that came nearest to the rate limit, the nearest first, of those that the caller sees. */
export type ReadLimitUse = (caller: Caller) => Promise<{ asOf: Date | undefined; uses: LimitUse[] }>;

const LAST_HOUR = { name: 'requests', interval: 'minute', intervals: 60 } as const;
const LAST_DAY = { name: 'rate_limited', interval: 'hour', intervals: 24 } as const;

export function createLimitUse(options: {
  store: BucketReader;
  ownedBy(userId: string): Promise<readonly string[]>;
}): ReadLimitUse {
  const { store, ownedBy } = options;

  /** The sums of a metric, by client, service and interval, up to now. */
  async function* sumsOf(
    clients: Parameters<BucketReader['buckets']>[0]['clients'],
    { name, interval, intervals }: { name: keyof typeof METRICS; interval: Interval; intervals: number },
  ) {
    const metric: Metric = METRICS[name];
    const to = startOf(interval, Date.now()) + INTERVAL_MS[interval];
    const range = { from: new Date(to - intervals * INTERVAL_MS[interval]), to: new Date(to) };
    const { sources } = metric;
    for await (const bucket of store.buckets({ interval, ...range, clients, sources, latency: false })) {
      const sum = emptySum();
      for (const part of partsOf(metric, bucket, undefined)) addPart(sum, part);
      const { client, source: service } = bucket;
      if (client !== NO_CLIENT && sum.count > 0) yield { client, service, count: sum.count };
    }
  }

  return async (caller) => {
    const query = { metric: 'requests', group: 'client_id', client: undefined } as const;
    const clients = await visibleClients(query, { caller, ownedBy });
    const asOf = await store.asOf('usage');
    const uses = new Map<string, LimitUse>();
    const useOf = (client: string) =>
      uses.get(client) ?? { client, service: null, busiestMinute: 0, rateLimited: 0 };
    for await (const { client, service, count } of sumsOf(clients, LAST_HOUR)) {
      const use = useOf(client);
      if (count > use.busiestMinute) uses.set(client, { ...use, service, busiestMinute: count });
    }
    for await (const { client, count } of sumsOf(clients, LAST_DAY)) {
      const use = useOf(client);
      uses.set(client, { ...use, rateLimited: use.rateLimited + count });
    }
    const sorted = [...uses.values()].sort(
      (a, b) =>
        b.busiestMinute - a.busiestMinute || b.rateLimited - a.rateLimited || (a.client < b.client ? -1 : 1),
    );
    return { asOf, uses: sorted.slice(0, MAX_LIMIT_USES) };
  };
}
