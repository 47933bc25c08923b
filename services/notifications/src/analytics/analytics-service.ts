import { ServiceError } from '@gatehouse/core/errors';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import type { AnalyticsQuery } from './analytics-query.ts';
import { ALL_CLIENTS, type BucketReader, INTERVAL_MS } from './bucket.ts';
import { addPart, addSum, emptySum, groupingOf, METRICS, type Metric, partsOf, type Sum } from './metrics.ts';

/** The number of groups that a response has one by one, those with the largest totals; the others are added up. */
export const MAX_GROUPS = 20;
const REST = 'other';

export type AnalyticsResponse = {
  /** Everything that ended before this time is counted; undefined while nothing has arrived. */
  asOf: Date | undefined;
  /** Null if there is none, or there are several that cannot be added up. */
  total: number | null;
  /** That of the period of the same length before; undefined if it was not asked for. */
  previousTotal: number | null | undefined;
  /** By group, the largest first. */
  totals: { key: string | null; value: number | null }[];
  /** For each interval, one value for each group. */
  data: { at: Date; key: string | null; value: number | null }[];
};

export type Analytics = {
  /** Throws `forbidden` when the caller may not see it. */
  query(query: AnalyticsQuery, caller: Caller): Promise<AnalyticsResponse>;
};

type PartOfGroup = ReturnType<typeof partsOf> extends Iterable<infer P> ? P : never;
type GroupSums = { total: Sum; points: Map<number, Sum> };
type Source = { clients: readonly string[] | 'each'; metric: Metric };

/**
 * Answers questions about metrics. Machines, editors and admins see everything, other people what their own applications
 * did; by another application than our own pages, what that one did.
 *
 * @param options.ownedBy the client ids of a person's applications
 */
export function createAnalytics(options: {
  store: BucketReader;
  ownedBy(userId: string): Promise<readonly string[]>;
}): Analytics {
  const { store, ownedBy } = options;

  /** Calls `take` with each part of what is asked for. */
  async function read(
    query: AnalyticsQuery,
    { clients, metric }: Source,
    take: (key: string | null, part: PartOfGroup, at: number) => void,
  ): Promise<void> {
    const { interval, from, to } = query;
    const group = groupingOf(query);
    const latency = metric.needsLatency === true;
    for await (const bucket of store.buckets({
      interval,
      from,
      to,
      clients,
      sources: metric.sources,
      latency,
    })) {
      for (const part of partsOf(metric, bucket, group)) take(part.key, part, bucket.start.getTime());
    }
  }

  /**
   * The largest groups, and the sum of the others. Read twice: there may be as many groups as applications, and only their totals fit into
   * memory.
   */
  async function sumsOf(query: AnalyticsQuery, of: Source) {
    let names: readonly (string | null)[] = [null];
    if (groupingOf(query) !== undefined) {
      const totals = new Map<string | null, Sum>();
      await read(query, of, (key, part) => addPart(entryOf(totals, key, emptySum), part));
      names = largest(totals);
    }
    const groups = new Map(names.map((name): [string | null, GroupSums] => [name, newGroup()]));
    await read(query, of, (key, part, at) => {
      const { total, points } = groups.get(key) ?? entryOf(groups, REST, newGroup);
      addPart(entryOf(points, at, emptySum), part);
      addPart(total, part);
    });
    return [...groups];
  }

  return {
    async query(query, caller) {
      const metric: Metric = METRICS[query.metric];
      const clients = await visibleClients(query, { caller, ownedBy });
      // Read first, so that it is not later than what was read.
      const asOf = metric.isLive ? new Date() : await store.asOf(metric.isPerClient ? 'usage' : 'orders');
      const groups = await sumsOf(query, { clients, metric });
      const isGrouped = groupingOf(query) !== undefined;

      const totalOf = (of: typeof groups): number | null => {
        const all = emptySum();
        for (const [, { total }] of of) addSum(all, total);
        return metric.groupedBy !== undefined && of.length > 1 ? null : metric.valueOf(all);
      };
      const { previousFrom, from } = query;
      const before = previousFrom && { ...query, from: previousFrom, to: from };
      const data: AnalyticsResponse['data'] = [];
      for (let at = query.from.getTime(); at < query.to.getTime(); at += INTERVAL_MS[query.interval]) {
        for (const [key, { points }] of groups) {
          data.push({ at: new Date(at), key, value: metric.valueOf(points.get(at) ?? emptySum()) });
        }
      }
      return {
        asOf,
        total: totalOf(groups),
        previousTotal: before && totalOf(await sumsOf(before, { clients, metric })),
        totals: isGrouped ? groups.map(([key, { total }]) => ({ key, value: metric.valueOf(total) })) : [],
        data,
      };
    },
  };
}

/** The clients whose values a caller sees, of those that a query is about. Throws `forbidden`. */
export async function visibleClients(
  { group, client, metric }: Pick<AnalyticsQuery, 'group' | 'client' | 'metric'>,
  { caller, ownedBy }: { caller: Caller; ownedBy: (userId: string) => Promise<readonly string[]> },
) {
  const { person } = caller;
  if (person === undefined || person.role !== 'user') {
    if (client !== undefined) return [client];
    const { isOnlyPerClient }: Metric = METRICS[metric];
    return group === 'client_id' || isOnlyPerClient ? 'each' : [ALL_CLIENTS];
  }
  if (!METRICS[metric].isPerClient) {
    throw new ServiceError('forbidden', `Only editors, admins and trusted applications see ${metric}.`);
  }
  const all = await ownedBy(person.id);
  const owned = isFirstParty(caller) ? all : all.filter((it) => it === caller.clientId);
  if (client === undefined) return owned;
  if (owned.includes(client)) return [client];
  throw new ServiceError('forbidden', 'You see the metrics of your own applications.');
}

/** The names of the groups with the largest totals. */
function largest(totals: ReadonlyMap<string | null, Sum>): (string | null)[] {
  const weight = ({ count, latency, amount }: Sum) =>
    count + latency.reduce((sum, n) => sum + n, 0) + Number(amount);
  return [...totals]
    .sort(([a, total], [b, other]) => weight(other) - weight(total) || (String(a) < String(b) ? -1 : 1))
    .slice(0, MAX_GROUPS)
    .map(([name]) => name);
}

const newGroup = (): GroupSums => ({ total: emptySum(), points: new Map() });

/** The value of a key, which is made if there is none. */
function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
