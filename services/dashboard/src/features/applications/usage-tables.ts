import { CREDENTIAL_POLICY } from '@gatehouse/api/http/identify-caller';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Api } from '../../api/api.ts';
import type { ApiKey } from '../../api/application-types.ts';
import { attempt, type Outcome } from '../../api/attempt.ts';
import { notAvailable, number } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import { RANGES, type Range, type Series } from '../overview/analytics.ts';
import { totalText } from '../overview/plots.ts';

const HOUR_MS = 3_600_000;
const ENDPOINT_METRICS = ['requests', 'client_errors', 'errors', 'latency_p95'] as const;
type Endpoint = { route: string } & Record<(typeof ENDPOINT_METRICS)[number], number | null>;
type Totals = { name: string | null; value: number }[];

/** The usage of an application by endpoint, status and API key, and how near it came to the rate limit. */
export async function usageTables(
  api: Api,
  { clientId, range, isLimited }: { clientId: string; range: Range; isLimited: boolean },
): Promise<Html> {
  const { interval, hours } = RANGES[range];
  const read = (metric: string, group: string, over: { interval: string; hours: number }) =>
    attempt(
      api.get<Series>('/api/v1/analytics', {
        metric,
        group_by: group,
        interval: over.interval,
        client_id: clientId,
        from: new Date(Date.now() - over.hours * HOUR_MS).toISOString(),
      }),
    );
  const inRange = { interval, hours };
  const [endpoints, statuses, keys, names, minutes] = await Promise.all([
    Promise.all(ENDPOINT_METRICS.map((metric) => read(metric, 'route', inRange))),
    read('requests', 'status', inRange),
    read('api_key_requests', 'api_key', inRange),
    attempt(api.get<{ data: ApiKey[] }>(`/api/v1/applications/${encodeURIComponent(clientId)}/api-keys`)),
    read('requests', 'service', { interval: 'minute', hours: 1 }),
  ]);
  const log = `/dashboard/requests?${new URLSearchParams({ client: clientId })}`;
  return html`${section('Requests by endpoint', endpoints[0], () => endpointTable(endpoints))}
${section('Requests by status', statuses, (series) => statusTable(totalsOf(series, 'status'), log))}
${section('Requests by API key', keys, (series) => keyTable(totalsOf(series, 'api_key'), names.value?.data ?? []))}
${isLimited && section('Rate limit', minutes, (series) => headroom(series, log))}`;
}

function section(
  title: string,
  outcome: Outcome<Series> | undefined,
  content: (series: Series) => Content,
): Html {
  return html`<section><h2>${title}</h2>${
    outcome?.value === undefined
      ? outcome?.error !== undefined && notAvailable(title, outcome.error)
      : content(outcome.value)
  }</section>`;
}

/** The groups that have a value, the largest first. */
function totalsOf({ totals = [] }: Series, group: string): Totals {
  return totals.flatMap(({ [group]: name, value }) =>
    value === null || value === 0 ? [] : [{ name: typeof name === 'string' ? name : null, value }],
  );
}

const NONE = html`<p class="empty">There were no such requests in this time.</p>`;
const COUNT: Column<{ value: number }> = {
  title: 'Requests',
  number: true,
  show: ({ value }) => number(value),
};

function endpointTable(outcomes: readonly Outcome<Series>[]): Html {
  const [requests = [], ...others] = outcomes.map(({ value }) =>
    value === undefined ? [] : totalsOf(value, 'route'),
  );
  const rows = requests.map(({ name, value }): Endpoint => {
    const [clientErrors, errors, p95] = others.map(
      (totals) => totals.find((it) => it.name === name)?.value ?? null,
    );
    return {
      route: name ?? 'other',
      requests: value,
      client_errors: clientErrors ?? 0,
      errors: errors ?? 0,
      latency_p95: p95 ?? null,
    };
  });
  const columns: Column<Endpoint>[] = [
    { title: 'Endpoint', show: ({ route }) => html`<code>${route}</code>` },
    { title: 'Requests', number: true, show: ({ requests: it }) => number(it ?? 0) },
    { title: '4xx', number: true, show: ({ client_errors: it }) => number(it ?? 0) },
    { title: '5xx', number: true, show: ({ errors: it }) => number(it ?? 0) },
    {
      title: 'p95',
      number: true,
      show: ({ latency_p95: it }) =>
        it === null ? '–' : totalText({ value: { total: it } as Series }, 'ms'),
    },
  ];
  return rows.length === 0 ? NONE : table(columns, rows);
}

function statusTable(totals: Totals, log: string): Html {
  if (totals.length === 0) return NONE;
  const columns: Column<Totals[number]>[] = [{ title: 'Status', show: ({ name }) => name }, COUNT];
  return html`${table(columns, totals)}<p><a href="${log}&status=failed">Failed requests, and why they failed</a></p>`;
}

function keyTable(totals: Totals, keys: readonly ApiKey[]): Html {
  if (totals.length === 0) return NONE;
  const nameOf = (id: string | null): Content => {
    const key = keys.find((it) => it.id === id);
    if (key === undefined) return id === 'other' ? 'Other keys' : 'A revoked or expired key';
    return html`<bdi>${key.name}</bdi> ${key.last_four !== null && html`<code dir="ltr">…${key.last_four}</code>`}`;
  };
  const columns: Column<Totals[number]>[] = [{ title: 'API key', show: ({ name }) => nameOf(name) }, COUNT];
  return table(columns, totals);
}

/** How near the busiest minute of the last hour came to the rate limit. */
function headroom({ data }: Series, log: string): Html {
  const { quota } = CREDENTIAL_POLICY;
  const busiest = data.reduce<(typeof data)[number] | undefined>(
    (most, it) => ((it.value ?? 0) > (most?.value ?? 0) ? it : most),
    undefined,
  );
  const peak = busiest?.value ?? 0;
  const limit = html`<p>The application, and each person who uses it, may send ${number(quota)} requests a minute to each service.`;
  if (peak === 0) return html`${limit} There were none in the last hour.</p>`;
  const share = number(Math.ceil((peak / quota) * 100));
  return html`${limit} The busiest minute of the last hour had ${number(peak)} requests to the ${busiest?.service} service: at most ${share} % of the limit. <a href="${log}&status=429">Requests that were refused</a></p>`;
}
