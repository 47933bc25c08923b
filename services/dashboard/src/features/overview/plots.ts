import { moment } from '@gatehouse/web/formatting';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Outcome } from '../../api/attempt.ts';
import { notAvailable, refreshed } from '../../pages/parts.ts';
import { RANGES, type Range, type Series } from './analytics.ts';
import {
  type Figure,
  MAX_LINES,
  NUMBER,
  type RequestSeries,
  tiles,
  totalText,
  UNITS,
  type Unit,
} from './figures.ts';

export type Plot = {
  title: string;
  unit: Unit;
  /** Whether its series are client errors, server errors and others, in the colours of these. */
  isOfErrors?: true;
  /** Each series of the plot: its name, and its values over the same times. */
  lines: readonly { name: string; outcome: Outcome<Series> }[];
};

const SECONDS: Readonly<Record<string, number>> = { minute: 60, hour: 3600, day: 86_400 };
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
    figures: readonly Figure[];
    /** The content below the figures. */
    below?: Content;
    plots: readonly Plot[];
    /** The series that says until when everything is counted. */
    requests: Outcome<Series>;
  },
): Html {
  const { id, path, whose, isAway, plots } = it;
  return html`${rangePicker(path, range)}
<p>${whose} in the ${RANGES[range].title.toLowerCase()}, with the change from ${RANGES[range].before}.</p>
${refreshed(
  { id, path: `${path}?range=${range}`, seconds: 5 },
  html`${!isAway && tiles(it.figures)}
${!isAway && it.below}
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

/** The plots of requests: errors and limits first. */
export function requestPlots(series: RequestSeries): Plot[] {
  return [
    {
      title: 'Errors',
      unit: 'count',
      isOfErrors: true,
      lines: [
        { name: 'Client errors (4xx)', outcome: series.client_errors },
        { name: 'Server errors (5xx)', outcome: series.errors },
        { name: 'Rate limited (429)', outcome: series.rate_limited },
      ],
    },
    { title: 'Requests', unit: 'count', lines: [{ name: 'Requests', outcome: series.requests }] },
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

/** Whether there is nothing to draw. */
function isEmpty({ lines }: Plot): boolean {
  const known = lines.flatMap(({ outcome }) => outcome.value ?? []);
  return known.length > 0 && known.every(({ data }) => data.every(({ value }) => !value));
}

/** Plots of metrics: bars, or lines for latencies. A script draws each from its table, which remains for those who do not see it. A sentence names the empty ones. */
export function plotGrid(plots: readonly Plot[]): Html {
  const empty = plots.filter(isEmpty).map(({ title }) => title);
  return html`<div class="plots">${plots.filter((plot) => !isEmpty(plot)).map(onePlot)}</div>
${empty.length > 0 && html`<p class="hint">No data in this period: ${empty.join(', ')}.</p>`}`;
}

function onePlot({ title, unit, isOfErrors, lines }: Plot): Html {
  const first = lines[0]?.outcome;
  if (first?.value === undefined) {
    return html`<div class="plot"><h2>${title}</h2>${first?.error !== undefined && notAvailable(title, first.error)}</div>`;
  }
  const columns = lines.flatMap(({ name, outcome }) => (outcome.value ? columnsOf(name, outcome.value) : []));
  const times = [...new Set(first.value.data.map(({ at }) => at))];
  const total = lines.length === 1 ? totalText(first, unit) : undefined;
  const kind = unit === 'ms' ? 'lines' : 'bars';
  const { interval } = first.value;
  const byDay = interval === 'day';
  return html`<figure class="plot ${kind}${isOfErrors ? ' failures' : ''}" data-seconds="${SECONDS[interval] ?? 60}"><figcaption><h2>${title}${unit === 'ms' && ' in ms'}</h2>${total !== undefined && html`<span class="total">Total ${total}</span>`}</figcaption>
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
