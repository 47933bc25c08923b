import { html } from '@gatehouse/ui/html';
import { loadSeries, RANGES, rangeOf } from '../api/analytics.ts';
import { type ApiApplication, applicationPath } from '../api/application-types.ts';
import { applicationView } from '../pages/application-pages.ts';
import { errorRate, figures, freshness, plotGrid, rangePicker, totalText } from '../pages/plots.ts';
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
<p>What this application did in the ${RANGES[range].title.toLowerCase()}. Times are in UTC.</p>
<div id="usage" hx-get="${path}?range=${range}" hx-select="#usage" hx-swap="outerHTML" hx-trigger="every 5s">
${
  !isAway &&
  figures([
    ['Requests', totalText(series.requests, 'count')],
    ['Error rate', errorRate(series.errors, series.requests)],
    ['Half within', totalText(series.latency_p50, 'ms')],
    ['95 % within', totalText(series.latency_p95, 'ms')],
    ['Tokens issued', totalText(series.tokens_issued, 'count')],
  ])
}
${plotGrid(isAway ? plots.slice(0, 1) : plots)}
${freshness(series.requests)}</div>`,
    });
  });
}
