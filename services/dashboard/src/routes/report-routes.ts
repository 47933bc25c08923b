import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { html } from '@gatehouse/web/html';
import type { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import { type ApiPage, filters } from '../api/pages.ts';
import { errorOf } from '../pages/fields.ts';
import { choicesOf, list } from '../pages/list.ts';
import { notAvailable } from '../pages/parts.ts';
import {
  endOfDay,
  FORMATS,
  filterField,
  REPORT_COLUMNS,
  REPORTS,
  type Report,
  type ReportType,
  type ReportValues,
  reportChoice,
  reportForm,
  reportState,
  reportTitle,
} from '../pages/report-pages.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

const API = '/v2/reports';
const TRAIL = [{ href: REPORTS, title: 'Reports' }];
const TYPES = ['sales', 'orders', 'products', 'users', 'notifications', 'usage'];
const STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled', 'expired'];
/** What a download keeps of the API's answer. */
const DOWNLOAD_HEADERS = ['content-type', 'content-length', 'content-disposition'];

/** Reports: starting one, following its progress, downloading it. */
export function addReportRoutes({ get, post, raw }: DashboardRouter): void {
  const apiPath = ({ id }: Visit) => `${API}/${id('rpt')}`;

  get('/reports', async ({ api, query }) => {
    const values = { type: query('type'), status: query('status'), format: query('format') };
    const cursor = query('cursor');
    const newest = { view: 'mine', cursor, sort: 'created_at', order: 'desc' };
    return {
      title: 'Reports',
      section: 'reports',
      actions: html`<a class="primary" href="${REPORTS}/new">New report</a>`,
      body: list<Report>({
        path: REPORTS,
        noun: ['report', 'reports'],
        search: [
          { kind: 'choice', name: 'type', label: 'Type', options: choicesOf(TYPES) },
          { kind: 'choice', name: 'status', label: 'Status', options: choicesOf(STATUSES) },
          {
            kind: 'choice',
            name: 'format',
            label: 'Format',
            options: FORMATS.map(([name]) => [name, name.toUpperCase()] as const),
          },
        ],
        values,
        cursor,
        outcome: await attempt(api.get<ApiPage<Report>>(API, { ...newest, ...filters(values) })),
        columns: REPORT_COLUMNS,
        empty: html`<p><strong>You have not requested any reports yet.</strong> A report collects orders, products, users, notifications or usage over a period as CSV, JSON or PDF.</p><p><a class="button primary" href="${REPORTS}/new">Make a report</a></p>`,
      }),
    };
  });

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

  get('/reports/:id', async (visit) => {
    const report = await visit.api.get<Report>(apiPath(visit));
    return {
      title: reportTitle(report),
      section: 'reports',
      trail: TRAIL,
      body: reportState(report, visit.csrf),
    };
  });

  post('/reports/:id/cancel', async (visit) => {
    await visit.api.send('DELETE', apiPath(visit));
    return `${REPORTS}/${visit.id('rpt')}`;
  });

  raw('/reports/:id/download', async (visit) => {
    const response = await visit.api.fetch(`${apiPath(visit)}/download`);
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
  const common = { section: 'reports', trail: TRAIL, failed: error !== undefined } as const;
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
