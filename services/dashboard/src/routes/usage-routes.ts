import { html } from '@gatehouse/web/html';
import { loadSeries, RANGES, rangeOf } from '../api/analytics.ts';
import { type ApiApplication, applicationPath } from '../api/application-types.ts';
import { applicationView } from '../pages/application-pages.ts';
import {
  figures,
  freshness,
  plotGrid,
  REQUEST_METRICS,
  rangePicker,
  refreshed,
  requestFigures,
  requestPlots,
  totalText,
} from '../pages/plots.ts';
import type { DashboardRouter } from './dashboard-router.ts';

/** What one application did, over time. */
export function addUsageRoutes({ get }: DashboardRouter): void {
  get('/applications/:id/usage', async ({ api, param, query }) => {
    const application = await api.get<ApiApplication>(applicationPath(param('id')));
    const range = rangeOf(query('range'));
    const series = await loadSeries(api, REQUEST_METRICS, { range, clientId: application.client_id });
    const path = `/dashboard/applications/${encodeURIComponent(application.client_id)}/usage`;
    const isAway = series.requests.error !== undefined;
    const plots = requestPlots(series);
    return applicationView(application, {
      path: '/usage',
      charts: true,
      body: html`${rangePicker(path, range)}
<p>Usage of this application in the ${RANGES[range].title.toLowerCase()}.</p>
${refreshed(
  'usage',
  `${path}?range=${range}`,
  html`${
    !isAway &&
    figures([...requestFigures(series), ['Tokens issued', totalText(series.tokens_issued, 'count')]])
  }
${plotGrid(isAway ? plots.slice(0, 1) : plots)}
${freshness(series.requests)}`,
)}`,
    });
  });
}
