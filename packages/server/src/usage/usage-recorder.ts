import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { SERVICE_NAMES } from '@gatehouse/core/services';
import { type CompletedRequest, UNKNOWN_ROUTE } from '../completed-request.ts';
import { LATENCY_BUCKETS, latencyBucket } from '../metrics/latency.ts';
import {
  type CounterUsage,
  type KeyUsage,
  MAX_USAGE_AGE_MINUTES,
  minuteOf,
  OTHER,
  type RequestUsage,
  type UsageBatch,
  type UsageCounter,
} from './usage-batch.ts';

/** The number of clients that are counted one by one in an hour; those beyond it are counted together. */
const MAX_CLIENTS = 1000;
/** Series in memory, of some 400 bytes each. */
const MAX_SERIES = 20_000;
const TOO_MANY_REQUESTS = 429;
/** Series of one batch, of some 250 bytes each: NATS takes messages of up to 1 MB. */
const MAX_SERIES_IN_BATCH = 1500;

type Series = Pick<RequestUsage, 'minute' | 'route' | 'client' | 'statuses'> & { latency: Uint32Array };

export type UsageRecorder = {
  /** Counts a request; those between services are not counted. Returns whether it was. */
  observe(request: CompletedRequest): boolean;
  /** `method` is one of few names. */
  count(counter: UsageCounter, client: string | undefined, method?: string): void;
  /** Takes what was counted out of the recorder, or a part of it when there is much (`isAll` is false). */
  take(): Pick<UsageBatch, 'requests' | 'counters' | 'dropped'> & {
    keys: KeyUsage[];
    isAll: boolean;
  };
};

const SERVICES: ReadonlySet<string> = new Set(SERVICE_NAMES);

/**
 * Counts in memory, per minute, route and client. Routes are patterns, and clients exist at identity, but a person who has many
 * applications must not make the number of series grow without limit: beyond a number, clients are counted as `other`,
 * and then everything is. Minutes that could not be sent for hours are dropped.
 */
export function createUsageRecorder({ now = Date.now }: { now?: () => number } = {}): UsageRecorder {
  /** In the order of their beginning. */
  let series = new Map<string, Series>();
  let counters = new Map<string, CounterUsage>();
  let keys = new Map<string, KeyUsage>();
  let dropped = 0;
  const limited = createClientLimit();

  function seriesOf(minute: number, route: string, client: string | null): Series {
    const key = `${minute} ${client ?? ''} ${route}`;
    const known = series.get(key);
    if (known !== undefined) return known;
    if (series.size >= MAX_SERIES && !(route === UNKNOWN_ROUTE && client === OTHER)) {
      dropOld(minute);
      if (series.size >= MAX_SERIES) return seriesOf(minute, UNKNOWN_ROUTE, OTHER);
    }
    const created: Series = {
      minute,
      route,
      client,
      statuses: [0, 0, 0, 0],
      latency: new Uint32Array(LATENCY_BUCKETS),
    };
    series.set(key, created);
    return created;
  }

  /** Beyond the numbers of clients and series, the requests with a key are counted among all requests only. */
  function countKey(minute: number, client: string | null, key: string): void {
    const id = `${minute} ${key}`;
    const known = keys.get(id);
    if (known !== undefined) known.count += 1;
    else if (client !== null && client !== OTHER && keys.size < MAX_SERIES)
      keys.set(id, { minute, client, key, count: 1 });
  }

  function countEvent(counted: Omit<CounterUsage, 'count'>): void {
    const { minute, client, counter, method = '', actor = '' } = counted;
    const key = `${minute} ${client ?? ''} ${counter} ${method}${actor}`;
    const known = counters.get(key);
    if (known === undefined) counters.set(key, { ...counted, count: 1 });
    else known.count += 1;
  }

  function dropOld(minute: number): void {
    for (const [key, old] of series) {
      if (old.minute >= minute - MAX_USAGE_AGE_MINUTES) break;
      series.delete(key);
      dropped += old.statuses.reduce((sum, n) => sum + n, 0);
    }
  }

  return {
    observe({ route, client, status, ms, info }) {
      // An admin who impersonates somebody may have a token of the dashboard, which is a service, too.
      const isOwn = isInternal(client) && info?.actors === undefined;
      if (isOwn || route.includes(' /internal/')) return false;
      const minute = minuteOf(now());
      const limitedClient = limited(client, minute);
      if (info?.keyId !== undefined) countKey(minute, limitedClient, info.keyId);
      const { statuses, latency } = seriesOf(minute, route, limitedClient);
      if (status === TOO_MANY_REQUESTS)
        countEvent({ minute, counter: 'rate_limited', client: limitedClient });
      if (info?.actors !== undefined && counters.size < MAX_SERIES) {
        for (const it of info.actors) {
          const actor = limited(it, minute) ?? OTHER;
          countEvent({ minute, counter: 'agent_requests', client: limitedClient, actor });
        }
      }
      const kind = Math.min(3, Math.max(0, Math.floor(status / 100) - 2));
      statuses[kind] = (statuses[kind] as number) + 1;
      const bucket = latencyBucket(ms);
      latency[bucket] = (latency[bucket] as number) + 1;
      return true;
    },
    count(counter, client, method) {
      // People sign in to the dashboard, which is a service, too.
      if (counter !== 'logins' && isInternal(client)) return;
      const minute = minuteOf(now());
      countEvent({ minute, counter, client: limited(client, minute), ...omitUndefined({ method }) });
    },
    take() {
      dropOld(minuteOf(now()));
      const entries = [...series].slice(0, MAX_SERIES_IN_BATCH);
      for (const [key] of entries) series.delete(key);
      const counted = [...counters].slice(0, MAX_SERIES_IN_BATCH);
      for (const [key] of counted) counters.delete(key);
      const withKeys = [...keys].slice(0, MAX_SERIES_IN_BATCH);
      for (const [id] of withKeys) keys.delete(id);
      const result = {
        requests: entries.map(([, { latency, ...others }]) => ({ ...others, latency: sparse(latency) })),
        counters: counted.map(([, entry]) => entry),
        keys: withKeys.map(([, entry]) => entry),
        dropped,
        isAll: series.size === 0 && counters.size === 0 && keys.size === 0,
      };
      if (result.isAll) {
        // A map that was large once keeps its memory.
        series = new Map();
        counters = new Map();
        keys = new Map();
      }
      dropped = 0;
      return result;
    },
  };
}

/** Names a client by itself, or, beyond the first of an hour, as `other`. */
function createClientLimit() {
  let hour = 0;
  let clients = new Set<string>();
  return (client: string | undefined, minute: number): string | null => {
    if (client === undefined) return null;
    const current = Math.floor(minute / 60);
    if (current !== hour) {
      hour = current;
      clients = new Set();
    }
    if (!clients.has(client)) {
      if (clients.size >= MAX_CLIENTS) return OTHER;
      clients.add(client);
    }
    return client;
  };
}

function isInternal(client: string | undefined): boolean {
  return client !== undefined && SERVICES.has(client);
}

/** The index and count of each bucket that is not empty, one after the other. */
function sparse(counts: Uint32Array): number[] {
  const pairs: number[] = [];
  for (const [i, count] of counts.entries()) if (count > 0) pairs.push(i, count);
  return pairs;
}
