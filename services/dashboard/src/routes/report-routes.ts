import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { form } from '@gatehouse/ui/form';
import { type Html, html } from '@gatehouse/ui/html';
import type { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import type { ApiPage } from '../api/pages.ts';
import { formProblem, refusalOf, selectField, textField } from '../pages/fields.ts';
import { list } from '../pages/list.ts';
import { copyable, facts, notAvailable, statusTag, time } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

type Report = {
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
  created_at: string;
  completed_at: string | null;
  expires_at: string | null;
};
type ReportType = { type: string; description: string; formats: string[] };

const PATH = '/dashboard/reports';
const API = '/v2/reports';
const TRAIL = [{ href: PATH, title: 'Reports' }];
/** What a download keeps of the API's answer. */
const DOWNLOAD_HEADERS = ['content-type', 'content-length', 'content-disposition'];

/** Reports: starting one, following its progress, downloading it. */
export function addReportRoutes({ get, post, raw }: DashboardRouter): void {
  const apiPath = ({ param }: Visit) => `${API}/${encodeURIComponent(param('id'))}`;

  get('/reports', async ({ api, query }) => ({
    title: 'Reports',
    section: 'reports',
    actions: html`<a class="primary" href="${PATH}/new">New report</a>`,
    body: list<Report>({
      path: PATH,
      noun: ['report', 'reports'],
      search: [],
      values: {},
      outcome: await attempt(api.get<ApiPage<Report>>(API, { view: 'mine', cursor: query('cursor') })),
      columns: [
        {
          title: 'Report',
          show: ({ id, type, format }) =>
            html`<a href="${PATH}/${encodeURIComponent(id)}">${type}, ${format}</a>`,
        },
        { title: 'Status', show: ({ status }) => statusTag(status) },
        { title: 'Rows', number: true, show: ({ rows }) => rows },
        { title: 'Asked for', show: ({ created_at: at }) => time(at) },
        { title: 'Kept until', show: ({ expires_at: at }) => time(at) },
      ],
      empty: html`<p><strong>You have asked for no report yet.</strong> A report collects orders, products, users or usage over a time as CSV, JSON or PDF.</p>`,
    }),
  }));

  get('/reports/new', (visit) => newView(visit));

  post('/reports/new', async (visit, fields) => {
    const { type, format, from, to } = {
      ...{ type: fields.text('type'), format: fields.text('format') },
      ...{ from: fields.text('from'), to: fields.text('to') },
    };
    try {
      const period = { ...(from === '' ? {} : { from }), ...(to === '' ? {} : { to }) };
      const { id } = await visit.api.send<Report>('POST', `${API}/generate`, { type, format, ...period });
      return `${PATH}/${encodeURIComponent(id)}`;
    } catch (error) {
      return newView(visit, { values: { type, format, from, to }, error: refusalOf(error) });
    }
  });

  get('/reports/:id', async (visit) => {
    const report = await visit.api.get<Report>(apiPath(visit));
    return {
      title: `Report: ${report.type}, ${report.format}`,
      section: 'reports',
      trail: TRAIL,
      body: progress(report, visit.csrf),
    };
  });

  post('/reports/:id/cancel', async (visit) => {
    await visit.api.send('DELETE', apiPath(visit));
    return `${PATH}/${encodeURIComponent(visit.param('id'))}`;
  });

  raw('/reports/:id/download', async (visit) => {
    const response = await visit.api.fetch(`${apiPath(visit)}/download`);
    for (const name of DOWNLOAD_HEADERS) {
      const value = response.headers.get(name);
      if (value !== null) visit.ctx.set(name, value);
    }
    visit.ctx.set({ 'cache-control': 'no-store', 'content-security-policy': "default-src 'none'; sandbox" });
    visit.ctx.status = 200;
    visit.ctx.body = response.body === null ? '' : Readable.fromWeb(response.body as ReadableStream);
  });
}

/** The state of a report; loaded anew while it is being made. */
function progress(report: Report, csrf: string): Html {
  const path = `${PATH}/${encodeURIComponent(report.id)}`;
  const isOpen = report.status === 'queued' || report.status === 'running';
  return html`<div id="report"${isOpen && html` hx-get="${path}" hx-select="#report" hx-swap="outerHTML" hx-trigger="every 1s"`}>
<section class="panel">${facts([
    ['Report ID', copyable('report-id', report.id)],
    ['Status', statusTag(report.status)],
    ...(isOpen
      ? ([
          [
            'Progress',
            html`<progress max="100" value="${report.progress}" aria-label="Progress">${report.progress} %</progress> ${report.progress} %`,
          ],
        ] as const)
      : []),
    ['Rows', new Intl.NumberFormat('en-GB').format(report.rows)],
    ['From', time(report.from, 'the beginning')],
    ['To', time(report.to, 'now')],
    ['Asked for', time(report.created_at)],
    ['Completed', time(report.completed_at)],
    ['Kept until', time(report.expires_at)],
    ...(report.error === null ? [] : ([['Error', report.error]] as const)),
  ])}</section>
<div class="row-buttons">${report.status === 'completed' && html`<a class="button primary" href="${`${path}/download`}">Download</a>`}${
    isOpen && form({ action: `${path}/cancel`, csrf }, html`<button class="danger">Cancel</button>`)
  }</div></div>`;
}

async function newView(
  { api, csrf }: Visit,
  shown: { values?: { type: string; format: string; from: string; to: string }; error?: ApiError } = {},
): Promise<View> {
  const types = await attempt(api.get<{ data: ReportType[] }>(API));
  const { values, error } = shown;
  const problems = error?.details ?? [];
  const formats = [...new Set((types.value?.data ?? []).flatMap(({ formats: names }) => names))];
  return {
    title: 'New report',
    section: 'reports',
    trail: TRAIL,
    failed: error !== undefined,
    body:
      types.error === undefined
        ? html`<p>It is made in the background; you can leave the page meanwhile. It shows what you may see yourself.</p>
${formProblem(error, ['type', 'format', 'from', 'to'])}
${form(
  { action: `${PATH}/new`, csrf },
  html`${selectField({ name: 'type', label: 'What', required: true, value: values?.type ?? '', options: types.value.data.map(({ type, description }) => [type, `${type}: ${description}`] as const), problems })}
${selectField({ name: 'format', label: 'Format', required: true, value: values?.format ?? '', options: formats.map((name) => [name, name.toUpperCase()] as const), problems })}
<div class="pair">${textField({ name: 'from', label: 'From', type: 'date', value: values?.from ?? '', problems })}
${textField({ name: 'to', label: 'To', type: 'date', value: values?.to ?? '', hint: 'This day is not part of it.', problems })}</div>
<div class="buttons"><button class="primary">Start the report</button></div>`,
  { class: 'wide-form' },
)}`
        : notAvailable('Reports', types.error),
  };
}
