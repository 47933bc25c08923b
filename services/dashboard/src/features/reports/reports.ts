import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { html } from '@gatehouse/web/html';
import type { ApiError } from '../../api/api-error.ts';
import { attempt } from '../../api/attempt.ts';
import { filters } from '../../api/pages.ts';
import { errorOf } from '../../pages/fields.ts';
import { capital, notAvailable, number, statusTag, time } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { DashboardRouter, Visit } from '../../routes/dashboard-router.ts';
import {
  endOfDay,
  filterField,
  isRunning,
  period,
  REPORTS,
  type Report,
  type ReportType,
  type ReportValues,
  reportChoice,
  reportForm,
  reportPage,
  size,
} from './report-page.ts';

const API = '/v2/reports';
const TYPES = ['sales', 'orders', 'products', 'users', 'notifications', 'usage'];
const STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled', 'expired'];
const FORMATS = ['csv', 'json', 'pdf'];
/** What a download keeps of the API's response. */
const DOWNLOAD_HEADERS = ['content-type', 'content-length', 'content-disposition'];

/** Reports: starting one, following its progress, downloading it. */
export const reports = resourcePages<Report>({
  name: 'reports',
  noun: ['report', 'reports'],
  api: API,
  idPrefix: 'rpt',
  role: 'editor',
  filters: [
    { name: 'type', label: 'Type', options: TYPES },
    { name: 'status', label: 'Status', options: STATUSES },
    { name: 'format', label: 'Format', options: FORMATS.map((name) => [name, name.toUpperCase()]) },
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
  create: { invitation: 'Make a report' },
  routes: addReportRoutes,
});

function titleOf({ type, format }: Report): string {
  return `${capital(type)}, ${format.toUpperCase()}`;
}

/** The forms of the types, which the API describes; and what becomes of a report. */
function addReportRoutes({ get, post, raw }: DashboardRouter): void {
  const apiPathOf = ({ id }: Visit) => `${API}/${id('rpt')}`;

  get('/reports/new', (visit) => {
    const { query } = visit;
    const values = { format: query('format'), from: query('from'), to: query('to') };
    return newView(visit, query('type'), { ...values, filters: (name) => query(filterField(name)) });
  });

  post('/reports/new', async (visit, fields) => {
    const { text } = fields;
    const type = text('type');
    const values = { format: text('format'), from: text('from'), to: text('to') };
    const filter = (name: string) => text(filterField(name));
    try {
      const chosen = await typeOf(visit, type);
      const given = Object.keys(chosen?.parameters.filters ?? {}).map(
        (name) => [name, filter(name)] as const,
      );
      const body = {
        type,
        ...{ ...values, to: endOfDay(values.to) },
        filters: Object.fromEntries(given.filter(([, value]) => value !== '')),
      };
      const sent = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== ''));
      const { id } = await visit.api.send<Report>('POST', `${API}/generate`, sent);
      return `${REPORTS}/${encodeURIComponent(id)}`;
    } catch (error) {
      return newView(visit, type, { ...values, filters: filter }, errorOf(error));
    }
  });

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

const typesOf = ({ api }: Visit) => api.get<{ data: ReportType[] }>(API);

async function typeOf(visit: Visit, name: string): Promise<ReportType | undefined> {
  return (await typesOf(visit)).data.find(({ type }) => type === name);
}

/** The choice of a type, or the form of the one that was chosen. */
async function newView(
  visit: Visit,
  name: string,
  shown: Omit<ReportValues, 'filters'> & { filters(name: string): string },
  error?: ApiError,
): Promise<View> {
  const { value, error: missing } = await attempt(typesOf(visit));
  const trail = [{ href: REPORTS, title: 'Reports' }];
  const common = { section: 'reports', trail, failed: error !== undefined } as const;
  if (missing !== undefined) {
    return {
      ...common,
      title: 'New report',
      body: notAvailable('Reports', missing, { again: `${REPORTS}/new` }),
    };
  }
  const type = value.data.find((it) => it.type === name);
  if (type === undefined) return { ...common, title: 'New report', body: reportChoice(value.data) };
  const names = Object.keys(type.parameters.filters);
  const given = Object.fromEntries(names.map((it) => [it, shown.filters(it)]));
  return {
    ...common,
    title: `New report: ${name}`,
    body: reportForm({ type, csrf: visit.csrf, values: { ...shown, filters: given }, error }),
  };
}
