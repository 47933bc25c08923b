import { CREDENTIAL_POLICY } from '@gatehouse/api/http/identify-caller';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Api } from '../../api/api.ts';
import type { ApiKey, Application } from '../../api/application-types.ts';
import { attempt, type Outcome } from '../../api/attempt.ts';
import { httpStatusTag, limitMeter, notAvailable, number } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import { RANGES, type Range, type Series } from '../overview/analytics.ts';
import { totalText } from '../overview/figures.ts';

const HOUR_MS = 3_600_000;
const ENDPOINT_METRICS = ['requests', 'client_errors', 'errors', 'latency_p95'] as const;
type Endpoint = { route: string } & Record<(typeof ENDPOINT_METRICS)[number], number | null>;
type Totals = { name: string | null; value: number }[];

/** Reads a metric of an application by some group, over a range of time. */
const readerOf =
  (api: Api, clientId: string) =>
  (metric: string, group: string, { interval, hours }: { interval: string; hours: number }) =>
    attempt(
      api.get<Series>('/api/v1/analytics', {
        ...{ metric, group_by: group, interval, client_id: clientId },
        from: new Date(Date.now() - hours * HOUR_MS).toISOString(),
      }),
    );

const logOf = (clientId: string) => `/dashboard/requests?${new URLSearchParams({ client: clientId })}`;

/** How near an application came to the rate limit. */
export async function limitSection(
  api: Api,
  { application, range, isLimited }: { application: Application; range: Range; isLimited: boolean },
): Promise<Html> {
  const { client_id: clientId } = application;
  const read = readerOf(api, clientId);
  const [minutes, refused] = await Promise.all([
    read('requests', 'service', { interval: 'minute', hours: 1 }),
    read('rate_limited', 'service', RANGES[range]),
  ]);
  return section('Rate limit', minutes, (series) =>
    isLimited
      ? html`<p>${limitText(application)}</p>
${limitTable({ minutes: series, refused: refused.value, title: RANGES[range].title, log: logOf(clientId) })}`
      : html`<p>Requests are not limited in this deployment.</p>`,
  );
}

/** The usage of an application by endpoint, status and API key. */
export async function usageTables(
  api: Api,
  { application, range }: { application: Application; range: Range },
): Promise<Html> {
  const { client_id: clientId } = application;
  const read = readerOf(api, clientId);
  const inRange = RANGES[range];
  const [endpoints, statuses, keys, names] = await Promise.all([
    Promise.all(ENDPOINT_METRICS.map((metric) => read(metric, 'route', inRange))),
    read('requests', 'status', inRange),
    read('api_key_requests', 'api_key', inRange),
    attempt(api.get<{ data: ApiKey[] }>(`/api/v1/applications/${encodeURIComponent(clientId)}/api-keys`)),
  ]);
  const log = logOf(clientId);
  return html`${section('Requests by endpoint', endpoints[0], () => endpointTable(endpoints))}
${section('Requests by status', statuses, (series) => statusTable(totalsOf(series, 'status'), log))}
${section('Requests by API key', keys, (series) => keyTable(totalsOf(series, 'api_key'), names.value?.data ?? []))}`;
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
  const columns: Column<Totals[number]>[] = [
    { title: 'Status', show: ({ name }) => httpStatusTag(name ?? 'other') },
    COUNT,
  ];
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

/** The callers that share a limit. */
function limitText({ type }: Application): string {
  const limit = `${number(CREDENTIAL_POLICY.quota)} requests a minute at each service`;
  return type === 'machine'
    ? `The tokens and API keys of the application share a limit of ${limit}.`
    : `Each person who uses the application has a limit of ${limit}; its API keys share another one. The figures are of all of them together.`;
}

/** How near the busiest minute of the last hour came to the limit of each service, and how many requests were refused. */
function limitTable(it: {
  minutes: Series;
  refused: Series | undefined;
  title: string;
  log: string;
}): Content {
  const { minutes, refused, title, log } = it;
  const { quota } = CREDENTIAL_POLICY;
  const rejections = refused === undefined ? [] : totalsOf(refused, 'service');
  const peaks = new Map<string | null, number>(rejections.map(({ name }) => [name, 0]));
  for (const { service, value } of minutes.data) {
    if (value) peaks.set(String(service), Math.max(value, peaks.get(String(service)) ?? 0));
  }
  const rows = [...peaks].map(([name, value]) => ({ name, value }));
  if (rows.length === 0) return html`<p class="empty">There were no requests in the last hour.</p>`;
  const columns: Column<Totals[number]>[] = [
    { title: 'Service', show: ({ name }) => name },
    {
      title: 'Busiest minute of the last hour',
      show: ({ name, value }) => limitMeter(String(name), value, quota),
    },
    {
      title: `Refused (429), ${title.toLowerCase()}`,
      number: true,
      show: ({ name }) => {
        const count = rejections.find((it) => it.name === name)?.value ?? 0;
        return count === 0 ? '0' : html`<a href="${log}&status=429">${number(count)}</a>`;
      },
    },
  ];
  return table(columns, rows);
}
