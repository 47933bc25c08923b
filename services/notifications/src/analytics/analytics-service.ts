import { ServiceError } from '@gatehouse/kit/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import type { AnalyticsQuery } from './analytics-query.ts';
import { ALL_CLIENTS, type BucketReader, INTERVAL_MS } from './bucket.ts';
import { addPart, addSum, emptySum, groupingOf, METRICS, type Metric, partsOf, type Sum } from './metrics.ts';

/** Groups with the largest totals that an answer has one by one; the rest is added up. */
export const MAX_GROUPS = 20;
const REST = 'other';

export type AnalyticsAnswer = {
  /** Everything that ended before this time is counted; undefined while nothing was added up. */
  asOf: Date | undefined;
  /** Null if there is none, or there are several that cannot be added up. */
  total: number | null;
  /** By group, the largest first. */
  totals: { key: string | null; value: number | null }[];
  /** For each interval, one value for each group. */
  data: { at: Date; key: string | null; value: number | null }[];
};

export type Analytics = {
  /** Throws `forbidden` when the caller may not see it. */
  query(query: AnalyticsQuery, caller: Caller): Promise<AnalyticsAnswer>;
};

type GroupSums = { total: Sum; points: Map<number, Sum> };

/**
 * Answers questions about metrics. Machines, editors and admins see everything, other people what their own applications
 * did.
 *
 * @param options.ownedBy the client ids of a person's applications
 */
export function createAnalytics(options: {
  store: BucketReader;
  ownedBy(userId: string): Promise<readonly string[]>;
}): Analytics {
  const { store, ownedBy } = options;

  async function clientsFor({ group, client, metric }: AnalyticsQuery, caller: Caller) {
    const { person } = caller;
    if (person === undefined || person.role !== 'user') {
      if (client !== undefined) return [client];
      return group === 'client_id' ? 'each' : [ALL_CLIENTS];
    }
    if (!METRICS[metric].isPerClient) {
      throw new ServiceError('forbidden', `Only editors, admins and trusted applications see ${metric}.`);
    }
    const owned = await ownedBy(person.id);
    if (client === undefined) return owned;
    if (owned.includes(client)) return [client];
    throw new ServiceError('forbidden', 'You see the metrics of your own applications.');
  }

  async function sumsOf(query: AnalyticsQuery, clients: readonly string[] | 'each', metric: Metric) {
    const groups = new Map<string | null, GroupSums>();
    const { interval, from, to } = query;
    const group = groupingOf(query);
    const found = store.buckets({
      ...{ interval, from, to, clients },
      sources: metric.sources,
      latency: metric.needsLatency === true || metric.unit === 'currency',
    });
    for await (const bucket of found) {
      for (const part of partsOf(metric, bucket, group)) {
        const sums = groups.get(part.key) ?? { total: emptySum(), points: new Map<number, Sum>() };
        groups.set(part.key, sums);
        const at = bucket.start.getTime();
        const point = sums.points.get(at) ?? emptySum();
        sums.points.set(at, point);
        addPart(point, part);
        addPart(sums.total, part);
      }
    }
    return largest(groups);
  }

  return {
    async query(query, caller) {
      const metric: Metric = METRICS[query.metric];
      const clients = await clientsFor(query, caller);
      // Read first, so that it is not later than what was read.
      const state = await store.state(query.interval);
      const groups = await sumsOf(query, clients, metric);
      const isGrouped = groupingOf(query) !== undefined;
      if (!isGrouped && groups.length === 0) groups.push([null, { total: emptySum(), points: new Map() }]);

      const all = emptySum();
      for (const [, { total }] of groups) addSum(all, total);
      const data: AnalyticsAnswer['data'] = [];
      for (let at = query.from.getTime(); at < query.to.getTime(); at += INTERVAL_MS[query.interval]) {
        for (const [key, { points }] of groups) {
          data.push({ at: new Date(at), key, value: metric.valueOf(points.get(at) ?? emptySum()) });
        }
      }
      const asOf = metric.isPerClient ? state.usage : state.facts;
      return {
        asOf: asOf.getTime() === 0 ? undefined : asOf,
        total: metric.groupedBy !== undefined && groups.length > 1 ? null : metric.valueOf(all),
        totals: isGrouped ? groups.map(([key, { total }]) => ({ key, value: metric.valueOf(total) })) : [],
        data,
      };
    },
  };
}

/** The groups by their totals, the smallest ones as one. */
function largest(groups: ReadonlyMap<string | null, GroupSums>): [string | null, GroupSums][] {
  const weight = ({ count, latency, amount }: Sum) =>
    count + latency.reduce((sum, n) => sum + n, 0) + Number(amount);
  const sorted = [...groups].sort(
    ([a, { total }], [b, { total: other }]) =>
      weight(other) - weight(total) || (String(a) < String(b) ? -1 : 1),
  );
  if (sorted.length <= MAX_GROUPS) return sorted;
  const first = sorted.slice(0, MAX_GROUPS);
  const rest: GroupSums = first.find(([key]) => key === REST)?.[1] ?? {
    total: emptySum(),
    points: new Map(),
  };
  for (const [, { total, points }] of sorted.slice(MAX_GROUPS)) {
    addSum(rest.total, total);
    for (const [at, sum] of points) {
      const point = rest.points.get(at) ?? emptySum();
      rest.points.set(at, point);
      addSum(point, sum);
    }
  }
  return first.some(([key]) => key === REST) ? first : [...first, [REST, rest]];
}
