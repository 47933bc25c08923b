import { type Content, type Html, html } from '@gatehouse/web/html';
import { queryText } from '../../api/api.ts';
import type { Outcome } from '../../api/attempt.ts';
import { money } from '../../pages/parts.ts';
import type { Series } from './analytics.ts';

export type Unit = 'count' | 'ms' | 'money';

/** A figure of a range of time, and its change from the range before; without a value where it cannot be had. */
export type Figure = { name: string; value: string | undefined; change?: Content; href?: string };

/** The metrics of requests that pages show. */
export const REQUEST_METRICS = [
  ...(['requests', 'errors', 'client_errors', 'rate_limited'] as const),
  ...(['latency_p50', 'latency_p95', 'latency_p99', 'tokens_issued'] as const),
];
export type RequestSeries = Record<(typeof REQUEST_METRICS)[number], Outcome<Series>>;

export const NUMBER = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 2 });
const SIGNED = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1, signDisplay: 'exceptZero' });
export const UNITS = { count: '', ms: ' ms', money: '' };
/** Below this number, a change is a difference: one in percent would say little. */
const FEW = 20;
export const MAX_LINES = 3;

/** The figures in a row, the most telling first; those that cannot be had are left out. */
export function tiles(figures: readonly Figure[]): Html {
  return html`<dl class="tiles">${figures.map(
    ({ name, value, change, href }) =>
      value !== undefined &&
      html`<div class="tile"><dt>${name}</dt><dd class="value">${href === undefined ? value : html`<a href="${href}">${value}</a>`}</dd>${change !== undefined && html`<dd class="change">${change}</dd>`}</div>`,
  )}</dl>`;
}

/** The figure of a metric. With `worse`, a higher value is worse. */
export function figureOf(name: string, outcome: Outcome<Series>, unit: Unit, worse = false): Figure {
  const { total, previous_total: before } = outcome.value ?? {};
  const value = totalText(outcome, unit);
  if (outcome.value === undefined || total == null || before == null || total + before === 0)
    return { name, value };
  // The last interval is not over, so that the range is shorter than the one before.
  const scaled = unit === 'ms' ? before : before * elapsedShare(outcome.value);
  const by = total - scaled;
  if (unit === 'count' && scaled < FEW) return { name, value, change: changeTag(Math.round(by), '', worse) };
  const change = scaled > 0 && changeTag(Math.round((by / scaled) * 100), ' %', worse);
  return { name, value, change };
}

function elapsedShare({ from, to }: Series): number {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  return Math.min(1, (Date.now() - start) / (end - start));
}

function changeTag(by: number, unit: string, worse: boolean): Content {
  const text = SIGNED.format(by).replace('-', '−');
  if (text === '0') return 'no change';
  const look = worse ? (by > 0 ? 'is-bad' : 'is-good') : 'is-quiet';
  return html`<span class="status ${look}">${text}${unit}</span>`;
}

/** The value of a metric over the whole range, in words; undefined if there is none. */
export function totalText({ value: series }: Outcome<Series>, unit: Unit): string | undefined {
  if (series === undefined) return undefined;
  if (unit === 'money') {
    const sums = (series.totals ?? []).map(({ value, currency }) => money(value ?? 0, String(currency)));
    return sums.length === 0 ? undefined : sums.slice(0, MAX_LINES).join(', ');
  }
  if (series.total === null) return undefined;
  const isLong = unit === 'ms' && series.total >= 10;
  return NUMBER.format(isLong ? Math.round(series.total) : series.total) + UNITS[unit];
}

/** The figures of requests, of one application or all: errors and limits first. */
export function requestFigures(series: RequestSeries, clientId?: string): Figure[] {
  const refused = `/dashboard/requests${queryText({ client: clientId, status: 429 })}`;
  const { requests, errors, client_errors: clientErrors } = series;
  return [
    rate('Error rate', [errors, clientErrors], requests),
    { ...figureOf('Rate limited (429)', series.rate_limited, 'count', true), href: refused },
    figureOf('Requests', requests, 'count'),
    figureOf('Latency (p95)', series.latency_p95, 'ms', true),
  ];
}

/** The share of requests that failed in these ways, and its change in percentage points. */
function rate(name: string, failures: readonly Outcome<Series>[], requests: Outcome<Series>): Figure {
  const shareOf = (key: 'total' | 'previous_total') => {
    const [all, ...failed] = [requests, ...failures].map(({ value }) => value?.[key]);
    if (all == null || all === 0 || failed.some((total) => total == null)) return undefined;
    return (failed.reduce<number>((sum, total) => sum + (total ?? 0), 0) / all) * 100;
  };
  const [now, before] = [shareOf('total'), shareOf('previous_total')];
  if (now === undefined) return { name, value: undefined };
  const change = before !== undefined && changeTag(now - before, ' points', true);
  return { name, value: `${NUMBER.format(now)} %`, change };
}
