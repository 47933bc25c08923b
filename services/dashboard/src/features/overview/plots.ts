import { moment } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import type { Outcome } from '../../api/attempt.ts';
import { money, notAvailable, refreshed } from '../../pages/parts.ts';
import { RANGES, type Range, type Series } from './analytics.ts';

export type Plot = {
  title: string;
  unit: 'count' | 'ms' | 'money';
  /** Each series of the plot: its name, and its values over the same times. */
  lines: readonly { name: string; outcome: Outcome<Series> }[];
};

/** The metrics of requests that pages show. */
export const REQUEST_METRICS = [
  'requests',
  'errors',
  'client_errors',
  'latency_p50',
  'latency_p95',
  'latency_p99',
  'tokens_issued',
] as const;
type RequestSeries = Record<(typeof REQUEST_METRICS)[number], Outcome<Series>>;

const NUMBER = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 2 });
const UNITS = { count: '', ms: ' ms', money: '' };
const SECONDS: Readonly<Record<string, number>> = { minute: 60, hour: 3600, day: 86_400 };
const MAX_LINES = 3;

/** Figures and plots of a range of time, which are loaded again as they change. */
export function usageOver(
  range: Range,
  it: {
    /** The id of what is loaded again, and the path of its page. */
    id: string;
    path: string;
    /** The beginning of a sentence, which names the owner of the usage. */
    whose: string;
    /** Whether no figures can be had, for a reason that one plot says. */
    isAway: boolean;
    figures: readonly (readonly [name: string, value: string | undefined])[];
    plots: readonly Plot[];
    /** The series that says until when everything is counted. */
    requests: Outcome<Series>;
  },
): Html {
  const { id, path, whose, isAway, plots } = it;
  return html`${rangePicker(path, range)}
<p>${whose} in the ${RANGES[range].title.toLowerCase()}.</p>
${refreshed(
  { id, path: `${path}?range=${range}`, seconds: 5 },
  html`${!isAway && figures(it.figures)}
${plotGrid(isAway ? plots.slice(0, 1) : plots)}
${freshness(it.requests)}`,
)}`;
}

/** Links to the ranges of time that can be shown. */
export function rangePicker(path: string, current: Range): Html {
  return html`<nav class="ranges" aria-label="Range of time">${(Object.keys(RANGES) as Range[]).map(
    (range) =>
      html`<a href="${path}?range=${range}"${range === current && html` aria-current="true"`}>${RANGES[range].title}</a>`,
  )}</nav>`;
}

/** The figures of a range of time in a row, the most telling first; those that cannot be had are left out. */
function figures(entries: readonly (readonly [name: string, value: string | undefined])[]): Html {
  return html`<dl class="tiles">${entries.map(
    ([name, value]) =>
      value !== undefined && html`<div class="tile"><dt>${name}</dt><dd class="value">${value}</dd></div>`,
  )}</dl>`;
}

/** The value of a metric over the whole range, in words; undefined if there is none. */
export function totalText({ value: series }: Outcome<Series>, unit: Plot['unit']): string | undefined {
  if (series === undefined) return undefined;
  if (unit === 'money') {
    const sums = (series.totals ?? []).map(({ value, currency }) => money(value ?? 0, String(currency)));
    return sums.length === 0 ? undefined : sums.slice(0, MAX_LINES).join(', ');
  }
  if (series.total === null) return undefined;
  const isLong = unit === 'ms' && series.total >= 10;
  return NUMBER.format(isLong ? Math.round(series.total) : series.total) + UNITS[unit];
}

/** The figures of requests. */
export function requestFigures(
  series: RequestSeries,
): (readonly [name: string, value: string | undefined])[] {
  const { requests, errors, client_errors: clientErrors } = series;
  return [
    ['Requests', totalText(requests, 'count')],
    ['Error rate', rate([errors, clientErrors], requests)],
    ['Server errors (5xx)', rate([errors], requests)],
    ['Median', totalText(series.latency_p50, 'ms')],
    ['p95', totalText(series.latency_p95, 'ms')],
    ['p99', totalText(series.latency_p99, 'ms')],
  ];
}

/** The plots of requests. */
export function requestPlots(series: RequestSeries): Plot[] {
  return [
    { title: 'Requests', unit: 'count', lines: [{ name: 'Requests', outcome: series.requests }] },
    {
      title: 'Errors',
      unit: 'count',
      lines: [
        { name: 'Client errors (4xx)', outcome: series.client_errors },
        { name: 'Server errors (5xx)', outcome: series.errors },
      ],
    },
    {
      title: 'Latency',
      unit: 'ms',
      lines: [
        { name: 'Median', outcome: series.latency_p50 },
        { name: 'p95', outcome: series.latency_p95 },
        { name: 'p99', outcome: series.latency_p99 },
      ],
    },
    { title: 'Tokens issued', unit: 'count', lines: [{ name: 'Tokens', outcome: series.tokens_issued }] },
  ];
}

/** The share of requests that failed in these ways. */
function rate(failures: readonly Outcome<Series>[], requests: Outcome<Series>): string | undefined {
  const all = requests.value?.total;
  const failed = failures.map(({ value }) => value?.total);
  if (all == null || all === 0 || failed.some((total) => total == null)) return undefined;
  return `${NUMBER.format((failed.reduce<number>((sum, total) => sum + (total ?? 0), 0) / all) * 100)} %`;
}

/** Plots of metrics: bars, or lines for latencies. A script draws each from its table, which remains for those who do not see it. */
export function plotGrid(plots: readonly Plot[]): Html {
  return html`<div class="plots">${plots.map(onePlot)}</div>`;
}

function onePlot({ title, unit, lines }: Plot): Html {
  const first = lines[0]?.outcome;
  if (first?.value === undefined) {
    return html`<div class="plot"><h2>${title}</h2>${first?.error !== undefined && notAvailable(title, first.error)}</div>`;
  }
  const columns = lines.flatMap(({ name, outcome }) => (outcome.value ? columnsOf(name, outcome.value) : []));
  const times = [...new Set(first.value.data.map(({ at }) => at))];
  if (times.length === 0) {
    return html`<div class="plot"><h2>${title}</h2><p class="hint">No data for this period.</p></div>`;
  }
  const total = lines.length === 1 ? totalText(first, unit) : undefined;
  const kind = unit === 'ms' ? 'lines' : 'bars';
  const { interval } = first.value;
  const byDay = interval === 'day';
  return html`<figure class="plot ${kind}" data-seconds="${SECONDS[interval] ?? 60}"><figcaption><h2>${title}${unit === 'ms' && ' in ms'}</h2>${total !== undefined && html`<span class="total">Total ${total}</span>`}</figcaption>
${columns.length > 1 && html`<ul class="legend" aria-hidden="true">${columns.map(({ name }) => html`<li>${name}</li>`)}</ul>`}
<div class="drawing"><p class="readout" aria-live="polite"></p><div class="canvas" role="img" tabindex="0" aria-label="${`${title}: use the arrow keys to read the values`}"></div></div>
<details><summary>As a table</summary><div class="table" tabindex="0" role="region" aria-label="${`${title} as a table`}"><table><thead><tr><th scope="col">${byDay ? 'Day (UTC)' : 'From'}</th>${columns.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
<tbody>${times.map(
    (at) =>
      html`<tr><th scope="row">${moment(new Date(at), byDay ? 'day' : 'minute')}</th>${columns.map(
        ({ values }) => {
          const value = values.get(at) ?? null;
          return html`<td class="number" data-value="${value ?? ''}">${value === null ? '–' : NUMBER.format(value) + UNITS[unit]}</td>`;
        },
      )}</tr>`,
  )}</tbody></table></div></details></figure>`;
}

/** The values of a series by time: of one that is divided by currency or method, each of the largest. */
function columnsOf(name: string, series: Series): { name: string; values: Map<string, number | null> }[] {
  const group = series.metric === 'revenue' ? 'currency' : 'method';
  const names = series.totals?.flatMap(({ [group]: it }) => (typeof it === 'string' ? [it] : []));
  if (names === undefined || names.length === 0) {
    return [{ name, values: new Map(series.data.map(({ at, value }) => [at, value])) }];
  }
  return names.slice(0, MAX_LINES).map((name) => ({
    name,
    values: new Map(series.data.filter((row) => row[group] === name).map(({ at, value }) => [at, value])),
  }));
}

/** Until when everything is counted. */
function freshness(outcome: Outcome<Series>): Html | false {
  const asOf = outcome.value?.as_of;
  return (
    asOf != null &&
    html`<p class="hint">The figures are complete up to ${moment(new Date(asOf), 'second')}.</p>`
  );
}
