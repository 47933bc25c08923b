import { alertBox, form } from '@gatehouse/web/form';
import { moment } from '@gatehouse/web/formatting';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { queryText } from '../api/api.ts';
import type { ApiError } from '../api/api-error.ts';
import { formProblem, selectField, textField } from './fields.ts';
import type { Column } from './list.ts';
import { copyable, facts, number, statusTag, time } from './parts.ts';

export type Report = {
  id: string;
  type: string;
  format: string;
  status: string;
  progress: number;
  rows: number;
  bytes: number | null;
  error: string | null;
  from: string | null;
  to: string | null;
  filters: Record<string, string>;
  created_at: string;
  completed_at: string | null;
  expires_at: string | null;
};
export type ReportType = {
  type: string;
  description: string;
  formats: string[];
  columns: string[];
  /** The values that each filter allows; none where it allows any. */
  parameters: { filters: Record<string, string[]> };
};
/** What the form of a new report is filled with; filters by their names. */
export type ReportValues = { format: string; from: string; to: string; filters: Record<string, string> };

export const REPORTS = '/dashboard/reports';
const FILTER_NAMES: Record<string, string> = {
  ...{ user_id: 'User id', client_id: 'Client id', currency: 'Currency', status: 'Status' },
  ...{ category: 'Category', role: 'Role', type: 'Type' },
};
export const FORMATS = [
  ['csv', 'CSV: for spreadsheets'],
  ['json', 'JSON: for programs'],
  ['pdf', 'PDF: for people, with a chart'],
] as const;

const pathOf = ({ id }: Report) => `${REPORTS}/${encodeURIComponent(id)}`;
const isOpen = ({ status }: Report) => status === 'queued' || status === 'running';
const filterName = (name: string) => FILTER_NAMES[name] ?? name;
/** The name that the API gives to a filter in its errors, and the id of its field. */
export const filterField = (name: string) => `filters.${name}`;

export const reportTitle = ({ type, format }: Report) =>
  `${type.charAt(0).toUpperCase()}${type.slice(1)}, ${format.toUpperCase()}`;

export const REPORT_COLUMNS: Column<Report>[] = [
  { title: 'Report', show: (it) => html`<a href="${pathOf(it)}">${reportTitle(it)}</a>` },
  { title: 'Status', show: (it) => html`${statusTag(it.status)}${isOpen(it) && ` ${it.progress} %`}` },
  { title: 'Period', show: period },
  { title: 'Rows', number: true, show: ({ rows }) => number(rows) },
  { title: 'Size', number: true, show: ({ bytes }) => size(bytes) },
  { title: 'Requested', show: ({ created_at: at }) => time(at) },
  { title: 'Kept until', show: ({ expires_at: at }) => time(at) },
];

/** What can be reported. */
export function reportChoice(types: readonly ReportType[]): Html {
  return html`<p>Reports are made in the background and contain only data that you can see.</p>
<ul class="choices">${types.map(
    ({ type, description, columns }) =>
      html`<li><a class="choice" href="${REPORTS}/new?type=${type}"><strong>${type.charAt(0).toUpperCase() + type.slice(1)}</strong><span>${description}</span><span class="hint">${columns.join(', ')}</span></a></li>`,
  )}</ul>`;
}

/** The form of a report of one type. */
export function reportForm(it: {
  type: ReportType;
  csrf: string;
  values: ReportValues;
  error?: ApiError | undefined;
}): Html {
  const { values, error } = it;
  const { type, description, formats, parameters } = it.type;
  const problems = error?.details ?? [];
  const names = Object.keys(parameters.filters);
  return html`<p>${description} <a href="${REPORTS}/new">Choose another type</a>.</p>
${formProblem(error, ['format', 'from', 'to', ...names.map(filterField)])}
${form(
  { action: `${REPORTS}/new`, csrf: it.csrf, hidden: { type } },
  html`${selectField({ name: 'format', label: 'Format', required: true, value: values.format, options: FORMATS.filter(([name]) => formats.includes(name)), problems })}
<fieldset><legend>Period and filters</legend>
<div class="pair">${textField({ name: 'from', label: 'From', type: 'date', value: values.from, hint: 'The first day, in UTC.', problems })}
${textField({ name: 'to', label: 'To', type: 'date', value: values.to, hint: 'The last day, in UTC.', problems })}</div>
${Object.entries(parameters.filters).map(([name, allowed]) => {
  const common = { name: filterField(name), label: filterName(name), value: values.filters[name] ?? '' };
  if (allowed.length === 0) return textField({ ...common, problems });
  const options = [['', 'Any'] as const, ...allowed.map((value) => [value, value] as const)];
  return selectField({ ...common, options, problems });
})}</fieldset>
<div class="buttons"><button class="primary">Start the report</button></div>`,
  { class: 'wide-form' },
)}`;
}

/** The state of a report; loaded anew while it is being made. */
export function reportState(report: Report, csrf: string): Html {
  const path = pathOf(report);
  const { status, error, filters } = report;
  const again = html`<a class="button secondary" href="${againPath(report)}">Repeat report</a>`;
  const button = (text: string, look: string) =>
    form({ action: `${path}/cancel`, csrf }, html`<button class="${look}" id="end">${text}</button>`);
  return html`<div id="report" class="stack"${isOpen(report) && html` hx-get="${path}" hx-select="#report" hx-swap="outerHTML" hx-trigger="every 1s"`}>
${status === 'failed' && alertBox('The report failed', html`<p>${error ?? 'The reason is unknown.'}</p>`)}
${status === 'expired' && html`<p class="empty">The file has expired.</p>`}
<section class="panel">${facts([
    ['Status', statusTag(status)],
    ...(isOpen(report)
      ? ([
          [
            'Progress',
            html`<progress max="100" value="${report.progress}" aria-label="Progress">${report.progress} %</progress> ${report.progress} %`,
          ],
        ] as const)
      : []),
    ['Rows', number(report.rows)],
    ...(report.bytes === null ? [] : ([['Size', size(report.bytes)]] as const)),
    ['Period', period(report)],
    ...Object.entries(filters).map(([name, value]) => [filterName(name), value] as const),
    ['Requested', time(report.created_at)],
    ...(report.completed_at === null ? [] : ([['Completed', time(report.completed_at)]] as const)),
    ...(report.expires_at === null ? [] : ([['Kept until', time(report.expires_at)]] as const)),
    ['Report ID', copyable('report-id', report.id)],
  ])}</section>
<div class="row-buttons">${status === 'completed' && html`<a class="button primary" href="${`${path}/download`}">Download</a>${button('Remove the file', 'danger')}`}${isOpen(report) ? button('Cancel', 'danger') : status !== 'completed' && again}</div>
${isOpen(report) && html`<noscript><p class="hint">Load this page again to see the progress.</p></noscript>`}</div>`;
}

function againPath({ type, format, from, to, filters }: Report): string {
  const fields = Object.entries(filters).map(([name, value]) => [filterField(name), value] as const);
  const days = { from: from?.slice(0, 10), to: to === null ? undefined : dayBefore(to) };
  return `${REPORTS}/new${queryText({ type, format, ...days, ...Object.fromEntries(fields) })}`;
}

function period({ from, to }: Report): Content {
  if (from === null && to === null) return 'all time';
  const day = (iso: string) => moment(new Date(iso), 'day');
  return html`${from === null ? 'the beginning' : day(from)} – ${to === null ? 'now' : day(dayBefore(to))}`;
}

const DAY_MS = 86_400_000;

/** The last day of a period that ends at this time, which is not part of it. */
function dayBefore(end: string): string {
  return new Date(Date.parse(end) - 1).toISOString().slice(0, 10);
}

/** The end of a period of which this is the last day; what is no day is left to the API to refuse. */
export function endOfDay(day: string): string {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(ms) ? day : new Date(ms + DAY_MS).toISOString().slice(0, 10);
}

/** A number of bytes in words. */
function size(bytes: number | null): string {
  if (bytes === null) return '–';
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
