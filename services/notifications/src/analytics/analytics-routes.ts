import { plainBody } from '@gatehouse/api/http/error-bodies';
import { CREDENTIAL_POLICY } from '@gatehouse/api/http/identify-caller';
import { serializer } from '@gatehouse/api/http/schema';
import { DATE_PATTERN } from '@gatehouse/api/lists/filter-patterns';
import { ok, response, shape } from '@gatehouse/api/openapi/shapes';
import { mountEndpoints, uncached } from '@gatehouse/api/resource/mount-endpoints';
import type { MountOptions } from '@gatehouse/api/resource/mount-resource';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { MAX_POINTS, readAnalyticsQuery } from './analytics-query.ts';
import { type Analytics, MAX_GROUPS } from './analytics-service.ts';
import { INTERVALS, type Interval } from './bucket.ts';
import { MAX_LIMIT_USES, type ReadLimitUse } from './limit-use.ts';
import { GROUPS, type Group, groupingOf, groupsOf, METRIC_NAMES, METRICS } from './metrics.ts';

const PATH = '/api/v1/analytics';
const SCOPES = ['read:data', 'read:all'];

const words = (list: readonly string[], description?: string) =>
  Type.Union(
    list.map((word) => Type.Literal(word)),
    { ...(description && { description }) },
  );
const Time = Type.String({ format: 'date-time' });
const Value = Type.Union([Type.Number(), Type.Null()]);
const GroupFields = Object.fromEntries(
  GROUPS.map((group) => [group, Type.Optional(Type.Union([Type.String(), Type.Null()]))]),
);

const Metrics = Type.Object({
  metrics: Type.Array(
    Type.Object({
      name: words(METRIC_NAMES),
      description: Type.String(),
      unit: words(['count', 'ms', 'currency']),
      group_by: Type.Array(words(GROUPS)),
    }),
  ),
});
const Values = Type.Object({
  metric: words(METRIC_NAMES),
  from: Time,
  to: Time,
  interval: words(INTERVALS),
  group_by: Type.Optional(words(GROUPS)),
  as_of: Type.Union([Time, Type.Null()], {
    description: 'The time up to which the values are complete. Null before the first aggregation.',
  }),
  total: Type.Union([Type.Number(), Type.Null()], {
    description: 'The total of the whole period; null if there is none, or if there are several currencies.',
  }),
  previous_total: Type.Optional(
    Type.Union([Type.Number(), Type.Null()], {
      description: 'With compare: the total of as many intervals before, if they are kept.',
    }),
  ),
  totals: Type.Optional(
    Type.Array(Type.Object({ value: Value, ...GroupFields }), {
      description: 'The totals by group, the largest first.',
    }),
  ),
  data: Type.Array(Type.Object({ at: Time, value: Value, ...GroupFields }), {
    description: 'One value for each interval and group, 0 where nothing happened; latencies are null there.',
  }),
});
const Query = Type.Object({
  metric: Type.Optional(words(METRIC_NAMES)),
  from: Type.Optional(
    Type.String({
      pattern: DATE_PATTERN,
      description: 'A date or a time; by default the last hour, day or 30 days, by the interval.',
    }),
  ),
  to: Type.Optional(
    Type.String({
      pattern: DATE_PATTERN,
      description: 'The last day, or a time, which is not included; by default now.',
    }),
  ),
  interval: Type.Optional(words(INTERVALS)),
  group_by: Type.Optional(words(GROUPS)),
  compare: Type.Optional(
    words(['previous'], 'With the total of the period of the same length before, as `previous_total`.'),
  ),
  client_id: Type.Optional(
    Type.String({ minLength: 1, description: 'Only the values of this application.' }),
  ),
});

const LimitUses = Type.Object({
  as_of: Values.properties.as_of,
  limit: Type.Integer({ description: 'The requests that are allowed in a minute at each service.' }),
  data: Type.Array(
    Type.Object({
      client_id: Type.String(),
      busiest_minute: Type.Integer({
        description: 'The requests in the busiest minute of the last hour, at one service.',
      }),
      service: Type.Union([Type.String(), Type.Null()], {
        description: 'The service of that minute; null without requests in the last hour.',
      }),
      rate_limited: Type.Integer({
        description: 'The requests of the last 24 hours that were answered with 429.',
      }),
    }),
  ),
});
const LIMIT_EXAMPLE = {
  as_of: '2026-01-31T12:40:05.000Z',
  limit: CREDENTIAL_POLICY.quota,
  data: [
    {
      ...{ client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z', busiest_minute: 5400 },
      ...{ service: 'items', rate_limited: 12 },
    },
  ],
};

const LIST = {
  metrics: METRIC_NAMES.map((name) => {
    const { description, unit } = METRICS[name];
    return { name, description, unit, group_by: [...groupsOf(METRICS[name])] };
  }),
};
const EXAMPLE = {
  metric: 'requests',
  from: '2026-01-31T12:00:00.000Z',
  to: '2026-01-31T13:00:00.000Z',
  interval: 'hour',
  group_by: 'status',
  as_of: '2026-01-31T12:40:05.000Z',
  total: 1204,
  totals: [
    { status: '2xx', value: 1200 },
    { status: '4xx', value: 4 },
  ],
  data: [
    { at: '2026-01-31T12:00:00.000Z', status: '2xx', value: 1200 },
    { at: '2026-01-31T12:00:00.000Z', status: '4xx', value: 4 },
  ],
};
const writeList = serializer(Metrics) as (value: unknown) => string;
const writeValues = serializer(Values) as (value: unknown) => string;

const writeLimitUses = serializer(LimitUses) as (value: unknown) => string;

const LIMIT_DESCRIPTION = `
The ${MAX_LIMIT_USES} applications whose busiest minute of the last hour came nearest to the rate limit, in this order, with the requests that were
answered with 429. The requests of all people who use an application count together, while each of them has a limit of their own.

Editors, admins and trusted applications see every application. Other people see their own.
`.trim();

const DESCRIPTION = `
Without metric, the list of metrics. The values of a metric are by minute, hour (the default) or day in UTC, each with the start of
its interval, at most ${MAX_POINTS} of them; from and to are widened to whole intervals. group_by divides the values; the ${MAX_GROUPS} largest
groups are returned one by one, and the sum of all others as \`other\`.

Editors, admins and trusted applications see everything. Other people see the values of their own applications: of the one that
client_id names, or of all of them together; by an application or its API key, the values of that application.
`.trim();

/** Mounts GET /api/v1/analytics. */
export function mountAnalytics(
  app: FastifyInstance,
  options: {
    analytics: Analytics;
    readLimitUse: ReadLimitUse;
    mountOptions: Pick<MountOptions, 'authenticate' | 'concurrency'>;
    keepDays: Readonly<Record<Interval, number>>;
  },
): void {
  const { analytics, readLimitUse, keepDays } = options;
  const { authenticate, concurrency } = options.mountOptions;
  const path = { prefix: PATH, errors: { body: plainBody }, scopes: SCOPES };
  const endpoints = mountEndpoints(app, authenticate, path);
  mountLimitUse(endpoints, { readLimitUse, concurrency });
  endpoints.get('read', '/', {
    operationId: 'analytics_api_v1',
    summary: 'Metrics over time',
    description: DESCRIPTION,
    documentedQuery: Query,
    responses: {
      200: response(
        'The values of the metric, or the list of metrics.',
        shape('AnalyticsValues', Values, EXAMPLE),
        shape('AnalyticsMetrics', Metrics, LIST),
      ),
    },
    kinds: ['invalid'],
    async handle({ caller, request, reply }) {
      const parameters = request.query as Record<string, unknown>;
      const query = readAnalyticsQuery(parameters, { now: new Date(), keepDays });
      if (query === undefined) return uncached(reply, writeList(LIST));
      const { metric, from, to, interval } = query;
      const { asOf, total, previousTotal, totals, data } = await concurrency.run(caller, () =>
        analytics.query(query, caller),
      );
      const group: Group | undefined = groupingOf(query);
      const named = (key: string | null) => (group === undefined ? {} : { [group]: key });
      const text = writeValues({
        metric,
        interval,
        total,
        ...(previousTotal === undefined ? {} : { previous_total: previousTotal }),
        from: from.toISOString(),
        to: to.toISOString(),
        as_of: asOf?.toISOString() ?? null,
        ...(group === undefined
          ? {}
          : { group_by: group, totals: totals.map(({ key, value }) => ({ ...named(key), value })) }),
        data: data.map(({ at, key, value }) => ({ at: at.toISOString(), ...named(key), value })),
      });
      return uncached(reply, text);
    },
  });
}

/** Mounts GET /api/v1/analytics/rate-limits. */
function mountLimitUse(
  endpoints: ReturnType<typeof mountEndpoints>,
  { readLimitUse, concurrency }: { readLimitUse: ReadLimitUse } & Pick<MountOptions, 'concurrency'>,
): void {
  endpoints.get('read', '/rate-limits', {
    operationId: 'rate_limits_api_v1',
    summary: 'Applications near the rate limit',
    description: LIMIT_DESCRIPTION,
    responses: ok('The applications, the nearest first.', shape('LimitUses', LimitUses, LIMIT_EXAMPLE)),
    async handle({ caller, reply }) {
      const { asOf, uses } = await concurrency.run(caller, () => readLimitUse(caller));
      const text = writeLimitUses({
        as_of: asOf?.toISOString() ?? null,
        limit: CREDENTIAL_POLICY.quota,
        data: uses.map(({ client, busiestMinute, service, rateLimited }) => ({
          ...{ client_id: client, busiest_minute: busiestMinute, service, rate_limited: rateLimited },
        })),
      });
      return uncached(reply, text);
    },
  });
}
