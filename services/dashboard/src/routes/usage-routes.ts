import { html } from '@gatehouse/ui/html';
import { loadSeries, RANGES, rangeOf } from '../api/analytics.ts';
import { type ApiApplication, applicationPath } from '../api/application-types.ts';
import { applicationView } from '../pages/application-pages.ts';
import { freshness, plotGrid, rangePicker } from '../pages/plots.ts';
import type { DashboardRouter } from './dashboard-router.ts';

const METRICS = [
  'requests',
  'errors',
  'client_errors',
  'latency_p50',
  'latency_p95',
  'tokens_issued',
] as const;

/** What one application did, over time. The plots are loaded anew every few seconds. */
export function addUsageRoutes({ get }: DashboardRouter): void {
  get('/applications/:id/usage', async ({ api, param, query }) => {
    const application = await api.get<ApiApplication>(applicationPath(param('id')));
    const range = rangeOf(query('range'));
    const series = await loadSeries(api, METRICS, { range, clientId: application.client_id });
    const path = `/dashboard/applications/${encodeURIComponent(application.client_id)}/usage`;
    const isAway = series.requests.error !== undefined;
    const plots = [
      { title: 'Requests', unit: 'count', lines: [{ name: 'Requests', outcome: series.requests }] },
      {
        title: 'Errors',
        unit: 'count',
        lines: [
          { name: 'Ours (5xx)', outcome: series.errors },
          { name: 'The caller’s (4xx)', outcome: series.client_errors },
        ],
      },
      {
        title: 'Latency',
        unit: 'ms',
        lines: [
          { name: 'Median', outcome: series.latency_p50 },
          { name: '95 %', outcome: series.latency_p95 },
        ],
      },
      { title: 'Tokens issued', unit: 'count', lines: [{ name: 'Tokens', outcome: series.tokens_issued }] },
    ] as const;
    return applicationView(application, {
      path: '/usage',
      charts: true,
      body: html`${rangePicker(path, range)}
<p>What this application did: ${RANGES[range].title.toLowerCase()}.</p>
<div id="usage" hx-get="${path}?range=${range}" hx-select="#usage" hx-swap="outerHTML" hx-trigger="every 5s">
${plotGrid(isAway ? plots.slice(0, 1) : plots)}
${freshness(series.requests)}</div>`,
    });
  });
}
