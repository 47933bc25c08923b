import { dayIn } from '@gatehouse/domain/time-zone';
import { appearance, TIME_ZONES } from '@gatehouse/web/appearance';
import { alertBox, form } from '@gatehouse/web/form';
import { moment } from '@gatehouse/web/formatting';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { queryText } from '../../api/api.ts';
import { capital, copyable, facts, number, refreshed, statusTag, time } from '../../pages/parts.ts';
import type { ResourceView } from '../../resources/resource.ts';
import type { FormRow, ResourceField } from '../../resources/resource-form.ts';

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
  timezone: string;
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
  parameters: { timezone?: string; filters: Record<string, string[]> };
};

export const REPORTS = '/dashboard/reports';
const FORMATS = [
  ['csv', 'CSV: for spreadsheets'],
  ['json', 'JSON: for programs'],
  ['pdf', 'PDF: for people, with a chart'],
] as const;

/** Whether it is still being made. */
export const isRunning = ({ status }: Report) => status === 'queued' || status === 'running';
/** Such as “User ID” for user_id. */
const filterName = (name: string) => capital(name.replace(/_id$/, ' ID'));
/** Before the names of filters in the errors of the API, and in the ids of their fields. */
const FILTER = 'filters.';
const filterField = (name: string) => FILTER + name;
/** The name of the filter that a field is for. */
export const filterOf = (field: string) => field.slice(FILTER.length);

/** By default the one in which the dashboard shows times, if that is not the browser's. */
const timeZoneField: ResourceField = {
  ...{ name: 'timezone', label: 'Time zone of the days', options: TIME_ZONES },
  initial: ({ query }) => query('timezone') || (appearance().timeZone ?? 'UTC'),
};

/** The form of a report of one type, filled with what the query of its page says. */
export function reportFields({ formats, parameters }: ReportType): readonly FormRow[] {
  const field = (name: string, label: string): ResourceField => {
    return { name, label, initial: ({ query }) => query(name) };
  };
  const filters = Object.entries(parameters.filters).map(([name, allowed]) => ({
    ...field(filterField(name), filterName(name)),
    ...(allowed.length > 0 && { options: [['', 'Any'], ...allowed] as const }),
  }));
  return [
    {
      ...field('format', 'Format'),
      required: true,
      options: FORMATS.filter(([name]) => formats.includes(name)),
    },
    {
      legend: 'Period and filters',
      fields: [
        [
          { ...field('from', 'From'), subject: 'The beginning', type: 'date', hint: 'The first day.' },
          { ...field('to', 'To'), subject: 'The end', type: 'date', hint: 'The last day.' },
        ],
        ...(parameters.timezone === undefined ? [] : [timeZoneField]),
        ...filters,
      ],
    },
  ];
}

/** The state of a report; loaded again while it is being made. */
export function reportPage({ value: report, path, visit }: ResourceView<Report>): Html {
  const { status, error, filters, progress, bytes, completed_at: completed, expires_at: expires } = report;
  const isOpen = isRunning(report);
  const end = (text: string) =>
    form(
      { action: `${path}/cancel`, csrf: visit.csrf },
      html`<button class="danger" id="end">${text}</button>`,
    );
  const content = html`${status === 'failed' && alertBox('The report failed', html`<p>${error ?? 'The reason is unknown.'}</p>`)}
${status === 'expired' && html`<p class="empty">The file has expired.</p>`}
<section class="panel">${facts([
    ['Status', statusTag(status)],
    [
      'Progress',
      isOpen &&
        html`<progress max="100" value="${progress}" aria-label="Progress">${progress} %</progress> ${progress} %`,
    ],
    ['Rows', number(report.rows)],
    ['Size', bytes !== null && size(bytes)],
    ['Period', period(report)],
    ...Object.entries(filters).map(([name, value]) => [filterName(name), value] as const),
    ['Requested', time(report.created_at)],
    ['Completed', completed !== null && time(completed)],
    ['Kept until', expires !== null && time(expires)],
    ['Report ID', copyable('report-id', report.id)],
  ])}</section>
<div class="row-buttons">${status === 'completed' && html`<a class="button primary" href="${path}/download">Download</a>${end('Remove the file')}`}${isOpen && end('Cancel')}${
    !isOpen &&
    status !== 'completed' &&
    html`<a class="button secondary" href="${againPath(report)}">Repeat report</a>`
  }</div>
${isOpen && html`<noscript><p class="hint">Load this page again to see the progress.</p></noscript>`}`;
  return refreshed({ id: 'report', path, seconds: isOpen ? 1 : undefined, stack: true }, content);
}

function againPath({ type, format, from, to, timezone, filters }: Report): string {
  const fields = Object.entries(filters).map(([name, value]) => [filterField(name), value] as const);
  const dayOf = dayIn(timezone);
  const [first, last] = [from && dayOf(new Date(from)), to && dayOf(momentBefore(to))];
  const days = { from: first ?? undefined, to: last ?? undefined };
  return `${REPORTS}/new${queryText({ type, format, ...days, timezone, ...Object.fromEntries(fields) })}`;
}

/** The days that a report is about. */
export function period({ from, to, timezone }: Report): Content {
  if (from === null && to === null) return 'all time';
  const day = (time: Date) => moment(new Date(dayIn(timezone)(time)), 'day');
  const [first, last] = [from && day(new Date(from)), to && day(momentBefore(to))];
  return html`${first ?? 'the beginning'} – ${last ?? 'now'}${timezone !== 'UTC' && ` (${timezone})`}`;
}

/** In the last day of a period that ends at this time, which is not part of it. */
const momentBefore = (end: string) => new Date(Date.parse(end) - 1);

/** A number of bytes in words. */
export function size(bytes: number | null): string {
  if (bytes === null) return '–';
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
