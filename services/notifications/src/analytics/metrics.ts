import { SERVICE_NAMES } from '@gatehouse/core/services';
import { bringsRevenue } from '@gatehouse/domain/order-status';
import { latencyQuantile } from '@gatehouse/server/metrics/latency';
import { ALL_CLIENTS, type Bucket, type Entry, NO_CLIENT, ORDERS_SOURCE } from './bucket.ts';

export const GROUPS = [
  'route',
  'client_id',
  'service',
  'status',
  'type',
  'currency',
  'method',
  'api_key',
  'actor',
] as const;
export type Group = (typeof GROUPS)[number];

/** The sum of entries, from which the value is computed. */
export type Sum = { count: number; latency: number[]; amount: bigint };

/** The part of a bucket that belongs to one value of each group. */
type Part = { groups: Partial<Record<Group, string | null>>; count?: number; entry?: Entry };

export type Metric = {
  description: string;
  unit: 'count' | 'ms' | 'currency';
  /** Services, or what else is counted. */
  sources: readonly string[];
  /** The groups by which it can be divided; with `isPerClient`, also by client_id, unless it is `groupedBy` one. */
  groups: readonly Group[];
  /** Whether people may ask for it about their own applications. */
  isPerClient: boolean;
  /** The group by which it is always divided, since its values cannot be added up. */
  groupedBy?: Group;
  needsLatency?: true;
  /** Whether it is counted for each client, and not for all together. */
  isOnlyPerClient?: true;
  /** Whether it is counted when it is asked for. */
  isLive?: true;
  parts(entry: Entry): Part[];
  /** Null if there is none, such as a latency without requests. */
  valueOf(sum: Sum): number | null;
};

/** In place of a counter: the requests with API keys. */
export const KEY_COUNTER = 'api_key_requests';

const STATUSES = ['2xx', '3xx', '4xx', '5xx'];
const count = ({ count }: Sum) => count;

const ofRequests = { unit: 'count', sources: SERVICE_NAMES, isPerClient: true, valueOf: count } as const;
const isRequest = ({ labels }: Entry) => labels.route !== undefined;
const routeOf = ({ labels }: Entry) => labels.route ?? null;

function statusParts(entry: Entry, from: number, to: number): Part[] {
  if (!isRequest(entry)) return [];
  return STATUSES.slice(from, to).flatMap((status, i) => {
    const count = entry.counts[from + i] ?? 0;
    return count === 0 ? [] : [{ groups: { route: routeOf(entry), status }, count }];
  });
}

function latency(q: number, description: string): Metric {
  return {
    description,
    unit: 'ms',
    sources: SERVICE_NAMES,
    groups: ['route', 'service'],
    isPerClient: true,
    needsLatency: true,
    parts: (entry) => (isRequest(entry) ? [{ groups: { route: routeOf(entry) }, entry }] : []),
    valueOf: ({ latency }) => {
      const ms = latencyQuantile(latency, q);
      return ms === undefined ? null : Math.round(ms * 100) / 100;
    },
  };
}

function counter(name: string, description: string, groups: readonly Group[] = []): Metric {
  const parts = ({ labels, counts }: Entry) =>
    labels.counter === name ? [{ groups: labels, count: counts[0] ?? 0 }] : [];
  return { ...ofRequests, description, groups, parts };
}

const labelParts = ({ labels, counts }: Entry): Part[] => [{ groups: labels, count: counts[0] ?? 0 }];
const byLabels = { unit: 'count', isPerClient: false, parts: labelParts, valueOf: count } as const;

const TEN_THOUSAND = 10_000n;

/** In place of a service: the notifications themselves. */
export const NOTIFICATIONS_SOURCE = 'notification';

/** The metrics by their names. */
export const METRICS = {
  requests: {
    ...ofRequests,
    description: 'Requests that have ended, without those between the services of Gatehouse.',
    groups: ['route', 'service', 'status'],
    parts: (entry) => statusParts(entry, 0, 4),
  },
  errors: {
    ...ofRequests,
    description: 'Requests that were answered with a status of 500 or above.',
    groups: ['route', 'service'],
    parts: (entry) => statusParts(entry, 3, 4),
  },
  client_errors: {
    ...ofRequests,
    description: 'Requests that were answered with a status from 400 to 499, or not waited for.',
    groups: ['route', 'service'],
    parts: (entry) => statusParts(entry, 2, 3),
  },
  rate_limited: counter(
    'rate_limited',
    'Requests that were answered with the status 429, beyond a rate limit or another bound.',
    ['service'],
  ),
  latency_p50: latency(0.5, 'The median time of requests.'),
  latency_p95: latency(0.95, 'The 95th percentile of the time of requests.'),
  latency_p99: latency(0.99, 'The 99th percentile of the time of requests.'),
  tokens_issued: counter('tokens_issued', 'Access tokens issued.'),
  logins: counter('logins', 'Successful sign-ins, on the pages and by the API.', ['method']),
  api_key_requests: {
    ...counter(KEY_COUNTER, 'Requests with an API key, or with a token that was issued for one.', [
      'api_key',
    ]),
    isOnlyPerClient: true,
  },
  agent_requests: {
    ...counter(
      'agent_requests',
      'Requests that an application, or an admin, made for a person. One of a chain of applications counts for each of them.',
      ['actor'],
    ),
    groupedBy: 'actor',
  },
  orders: {
    description: 'Orders by the time they were placed, with their current status.',
    ...byLabels,
    sources: [ORDERS_SOURCE],
    groups: ['status', 'currency'],
  },
  revenue: {
    description:
      'The revenue of orders, by the time they were placed and by currency, without cancelled and refunded orders.',
    unit: 'currency',
    sources: [ORDERS_SOURCE],
    groups: ['currency'],
    isPerClient: false,
    groupedBy: 'currency',
    parts: (entry) => (bringsRevenue(entry.labels.status) ? [{ groups: entry.labels, entry }] : []),
    valueOf: ({ amount }) => Number(amount / TEN_THOUSAND) + Number(amount % TEN_THOUSAND) / 10_000,
  },
  notifications: {
    description: 'Notifications by the time they were accepted, with their current status.',
    ...byLabels,
    sources: [NOTIFICATIONS_SOURCE],
    groups: ['status', 'type'],
    isLive: true,
  },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as readonly MetricName[];

/** The groups by which a metric can be asked for. */
export function groupsOf({ groups, isPerClient, groupedBy }: Metric): readonly Group[] {
  return isPerClient && groupedBy === undefined ? [...groups, 'client_id'] : groups;
}

/** The group by which the values of a query are divided. */
export function groupingOf({
  metric,
  group,
}: {
  metric: MetricName;
  group: Group | undefined;
}): Group | undefined {
  const { groupedBy }: Metric = METRICS[metric];
  return groupedBy ?? group;
}

/** The parts of a bucket by the value of the group; all have the same key where it is not grouped. */
export function* partsOf(
  metric: Metric,
  { source, client, entries }: Bucket,
  group: Group | undefined,
): Generator<Part & { key: string | null }> {
  const ofBucket = {
    service: source,
    client_id: client === NO_CLIENT || client === ALL_CLIENTS ? null : client,
  };
  for (const entry of entries) {
    for (const part of metric.parts(entry)) {
      const key = group === undefined ? null : ({ ...part.groups, ...ofBucket }[group] ?? null);
      yield { ...part, key };
    }
  }
}

export function emptySum(): Sum {
  return { count: 0, latency: [], amount: 0n };
}

export function addPart(sum: Sum, { count = 0, entry }: Part): void {
  sum.count += count;
  if (entry?.latency !== undefined) addHistogram(sum.latency, entry.latency);
  if (entry?.amount !== undefined) sum.amount += BigInt(entry.amount);
}

export function addSum(to: Sum, { count, latency, amount }: Sum): void {
  to.count += count;
  addHistogram(to.latency, { ...latency });
  to.amount += amount;
}

function addHistogram(to: number[], added: Readonly<Record<number, number>>): void {
  for (const [i, n] of Object.entries(added)) to[Number(i)] = (to[Number(i)] ?? 0) + n;
}
