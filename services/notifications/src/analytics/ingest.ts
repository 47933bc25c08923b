import { bodyValidator } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { LATENCY_BUCKETS } from '@gatehouse/server/metrics/latency';
import {
  type LoggedRequest,
  MAX_USAGE_AGE_MINUTES,
  minuteOf,
  USAGE_COUNTERS,
  type UsageBatch,
} from '@gatehouse/server/usage/usage-batch';
import { Type } from 'typebox';
import {
  ALL_CLIENTS,
  type AnalyticsWriter,
  type CountedOrder,
  type CountedUsage,
  histogramOf,
  NO_CLIENT,
} from './bucket.ts';
import { KEY_COUNTER } from './metrics.ts';

/** Clocks of machines differ. */
const MAX_AHEAD_MINUTES = 5;

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Client = Type.Union([Type.String({ maxLength: 128 }), Type.Null()]);
const orNull = (maxLength: number) => Type.Union([Type.String({ maxLength }), Type.Null()]);
/** Names that stand for something else. */
const RESERVED_CLIENTS: readonly (string | null)[] = [ALL_CLIENTS, NO_CLIENT];
const readBatch = bodyValidator(
  Type.Object({
    id: Type.String({ pattern: '^bat_[0-9a-z]{26}$' }),
    service: Type.String(),
    sender: Type.String({ pattern: '^prc_[0-9a-z]{26}$' }),
    until: Type.Union([
      Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }),
      Type.Null(),
    ]),
    final: Type.Boolean(),
    dropped: Count,
    requests: Type.Array(
      Type.Object({
        minute: Type.Integer(),
        route: Type.String({ maxLength: 256 }),
        client: Client,
        statuses: Type.Array(Count, { minItems: 4, maxItems: 4 }),
        latency: Type.Array(Count, { maxItems: 2 * LATENCY_BUCKETS }),
      }),
    ),
    counters: Type.Array(
      Type.Object({
        minute: Type.Integer(),
        counter: Type.Union(USAGE_COUNTERS.map((name) => Type.Literal(name))),
        client: Client,
        method: Type.Optional(Type.String({ pattern: '^[a-z0-9][a-z0-9+-]{0,63}$' })),
        actor: Type.Optional(Type.String({ maxLength: 128 })),
        count: Count,
      }),
    ),
    keys: Type.Array(
      Type.Object({
        minute: Type.Integer(),
        client: Type.String({ maxLength: 128 }),
        key: Type.String({ pattern: '^[0-9A-Za-z]{1,32}$' }),
        count: Count,
      }),
    ),
    log: Type.Array(
      Type.Object({
        id: Type.String({ pattern: '^rlg_[0-9a-z]{26}$' }),
        client: Type.String({ maxLength: 128 }),
        authenticated: Type.Boolean(),
        method: Type.String({ maxLength: 16 }),
        path: Type.String({ maxLength: 256 }),
        status: Type.Integer({ minimum: 100, maximum: 599 }),
        ms: Type.Number({ minimum: 0 }),
        request_id: Type.String({ maxLength: 128 }),
        credential: orNull(4),
        code: orNull(64),
        message: orNull(256),
        scope: orNull(256),
        actors: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { maxItems: 4 })),
        workload: Type.Optional(Type.String({ maxLength: 256 })),
      }),
      { maxItems: 1000 },
    ),
  }),
);

/** The rules that the schema cannot express, on which adding up relies. */
function isConsistent({ until, requests, counters, keys }: ReturnType<typeof readBatch>): boolean {
  return (
    (until === null || !Number.isNaN(Date.parse(until))) &&
    ![...requests, ...counters, ...keys].some(({ client }) => RESERVED_CLIENTS.includes(client)) &&
    requests.every(
      ({ latency }) =>
        latency.length % 2 === 0 && latency.every((value, i) => i % 2 === 1 || value < LATENCY_BUCKETS),
    )
  );
}

/** An event about an aggregate, as services publish them. */
type AggregateEvent = { data: Record<string, unknown> };

/** `service` is the one that answered the requests. */
export type TakeLog = (service: string, requests: readonly LoggedRequest[]) => Promise<void>;

export type Ingest = ReturnType<typeof createIngest>;

/**
 * Takes in what services counted, and what happened to orders.
 *
 * @param options.takeLog stores the requests of a batch; durable when it resolves, and called again for the same ones
 * @param options.onOrder called when an order was stored that is to be counted
 */
export function createIngest(options: {
  store: AnalyticsWriter;
  logger: Logger;
  takeLog?: TakeLog;
  onOrder?: () => void;
}) {
  const { store, logger, takeLog, onOrder = () => {} } = options;

  /** Never rejects for what cannot be read: it would come again for ever. */
  async function skipUnreadable(about: string, take: () => Promise<void>): Promise<void> {
    try {
      await take();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.kind !== 'invalid') throw error;
      logger.error({ err: error }, `${about} could not be read, and is not counted`);
    }
  }

  function countedUsage(batch: Omit<UsageBatch, 'dropped'>): CountedUsage {
    const { id, service, sender, until, final: isFinal, requests, counters, keys } = batch;
    const current = minuteOf(Date.now());
    const isInTime = ({ minute }: { minute: number }) =>
      minute > current - MAX_USAGE_AGE_MINUTES - 1 && minute <= current + MAX_AHEAD_MINUTES;
    const dropped = [...requests, ...counters, ...keys].filter((series) => !isInTime(series)).length;
    if (dropped > 0) logger.error({ dropped, service }, 'usage of another time was dropped');
    const place = ({ minute, client }: { minute: number; client: string | null }) => ({
      start: new Date(minute * 60_000),
      client: client ?? NO_CLIENT,
    });
    return {
      id,
      service,
      sender,
      isFinal,
      until: until === null ? null : new Date(until),
      series: [
        ...requests.filter(isInTime).map(({ route, statuses, latency, ...series }) => ({
          ...place(series),
          labels: { route },
          counts: statuses,
          latency: histogramOf(latency),
        })),
        ...counters.filter(isInTime).map(({ counter, method, actor, count, ...series }) => ({
          ...place(series),
          labels: { counter, ...omitUndefined({ method, actor }) },
          counts: [count],
        })),
        ...keys.filter(isInTime).map(({ key, count, ...series }) => ({
          ...place(series),
          labels: { counter: KEY_COUNTER, api_key: key },
          counts: [count],
          isOnlyOfClient: true as const,
        })),
      ],
    };
  }

  return {
    /** Durable when it resolves; the same batch counts once. `sentBy` is the service that it came from. */
    takeUsage: (sentBy: string, batch: unknown) =>
      skipUnreadable('usage', async () => {
        const read = readBatch(batch);
        if (read.service !== sentBy) {
          throw new ServiceError('invalid', `${sentBy} must not send the usage of ${read.service}.`);
        }
        if (!isConsistent(read)) throw new ServiceError('invalid', 'The usage contradicts itself.');
        if (read.log.length > 0) await takeLog?.(sentBy, read.log);
        await store.addUsage(countedUsage(read));
      }),
    /** Takes an event commerce.order.*; durable when it resolves. */
    takeOrder: ({ data }: AggregateEvent) =>
      skipUnreadable('an order', async () => {
        const { id, version, status, currency, created_at: createdAt, total_amount: amount } = data;
        const at = new Date(String(createdAt));
        const isText = [id, status, currency].every((value) => typeof value === 'string');
        if (!isText || !Number.isSafeInteger(version) || Number.isNaN(at.getTime())) {
          throw new ServiceError('invalid', 'The event about the order lacks what is counted.');
        }
        await store.addOrder({
          ...({ id, version, status, currency } as Pick<
            CountedOrder,
            'id' | 'version' | 'status' | 'currency'
          >),
          at,
          amount: tenThousandths(Number(amount)),
        });
        onOrder();
      }),
  };
}

/** An amount with at most four decimals, as the text of a whole number. */
function tenThousandths(amount: number): string {
  const [, whole = '', fraction = ''] = /^(\d+)(?:\.(\d{1,4}))?$/.exec(String(amount)) ?? [];
  if (whole === '') throw new ServiceError('invalid', 'An order has no amount.');
  return `${whole}${fraction.padEnd(4, '0')}`;
}
