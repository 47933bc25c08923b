import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { REPORT_FORMATS, REPORT_STATUSES, REPORT_TYPES } from '@gatehouse/domain/report-fields';
import { html } from '@gatehouse/web/html';
import { filters } from '../../api/pages.ts';
import { capital, number, statusTag, time } from '../../pages/parts.ts';
import type { Kind } from '../../resources/resource.ts';
import type { FormValues } from '../../resources/resource-form.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { DashboardRouter } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';
import {
  filterOf,
  isRunning,
  period,
  REPORTS,
  type Report,
  type ReportType,
  reportFields,
  reportPage,
  size,
} from './report-page.ts';

const API = '/v2/reports';
/** The headers of the API's response that a download keeps. */
const DOWNLOAD_HEADERS = ['content-type', 'content-length', 'content-disposition'];

/** Reports: starting one, following its progress, downloading it. */
export const reports = resourcePages<Report>({
  name: 'reports',
  noun: ['report', 'reports'],
  api: API,
  idPrefix: 'rpt',
  role: 'editor',
  filters: [
    { name: 'type', label: 'Type', options: REPORT_TYPES },
    { name: 'status', label: 'Status', options: REPORT_STATUSES },
    { name: 'format', label: 'Format', options: REPORT_FORMATS.map((name) => [name, name.toUpperCase()]) },
  ],
  find: ({ api }, { cursor, ...equal }) =>
    api.get(API, { view: 'mine', cursor, sort: 'created_at', order: 'desc', ...filters(equal) }),
  columns: [
    { title: 'Report', show: titleOf },
    { title: 'Status', show: (it) => html`${statusTag(it.status)}${isRunning(it) && ` ${it.progress} %`}` },
    { title: 'Period', show: period },
    { title: 'Rows', number: true, show: ({ rows }) => number(rows) },
    { title: 'Size', number: true, show: ({ bytes }) => size(bytes) },
    { title: 'Requested', show: ({ created_at: at }) => time(at) },
    { title: 'Kept until', show: ({ expires_at: at }) => time(at) },
  ],
  empty: html`<p><strong>You have not requested any reports yet.</strong> A report collects orders, products, users, notifications or usage over a period as CSV, JSON or PDF.</p>`,
  title: titleOf,
  view: reportPage,
  create: {
    submit: 'Start the report',
    choice: {
      about: 'Reports are made in the background and contain only data that you can see.',
      kinds: kindsOf,
    },
    async send({ api }, values, { name }) {
      const { id } = await api.send<Report>('POST', `${API}/generate`, bodyOf(name, values));
      return `${REPORTS}/${encodeURIComponent(id)}`;
    },
  },
  routes: addReportRoutes,
});

function titleOf({ type, format }: Report): string {
  return `${capital(type)}, ${format.toUpperCase()}`;
}

/** The types of reports, which the API describes. */
async function kindsOf({ api }: Visit): Promise<readonly Kind[]> {
  const { data } = await api.get<{ data: ReportType[] }>(API);
  return data.map((it) => ({
    name: it.type,
    title: capital(it.type),
    text: it.description,
    hint: it.columns.join(', '),
    formTitle: `New report: ${it.type}`,
    about: it.description,
    fields: reportFields(it),
  }));
}

/** The body for a new report: the fields that were filled in. */
function bodyOf(type: string, { format, from, to, timezone, ...values }: FormValues): object {
  const given = (entries: object) =>
    Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== ''));
  const filters = Object.entries(values).map(([field, value]) => [filterOf(field), value]);
  return given({ type, format, from, to, timezone, filters: given(Object.fromEntries(filters)) });
}

/** The actions on a report. */
function addReportRoutes({ post, raw }: DashboardRouter): void {
  const apiPathOf = ({ id }: Visit) => `${API}/${id('rpt')}`;

  post('/reports/:id/cancel', async (visit) => {
    await visit.api.send('DELETE', apiPathOf(visit));
    return `${REPORTS}/${visit.id('rpt')}`;
  });

  raw('/reports/:id/download', async (visit) => {
    const response = await visit.api.fetch(`${apiPathOf(visit)}/download`);
    for (const name of DOWNLOAD_HEADERS) {
      const value = response.headers.get(name);
      if (value !== null) visit.ctx.set(name, value);
    }
    visit.ctx.set({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    });
    visit.ctx.status = 200;
    visit.ctx.body = response.body === null ? '' : Readable.fromWeb(response.body as ReadableStream);
  });
}
