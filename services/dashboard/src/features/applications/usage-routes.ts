import { html } from '@gatehouse/web/html';
import { refreshed } from '../../pages/parts.ts';
import type { DashboardRouter } from '../../routes/dashboard-router.ts';
import { loadSeries, RANGES, rangeOf } from '../overview/analytics.ts';
import {
  figures,
  freshness,
  plotGrid,
  REQUEST_METRICS,
  rangePicker,
  requestFigures,
  requestPlots,
  totalText,
} from '../overview/plots.ts';
import { applicationView } from './application-pages.ts';
import { pathOf, readApplication } from './application-routes.ts';

/** What one application did, over time. */
export function addUsageRoutes({ get }: DashboardRouter): void {
  get('/applications/:id/usage', async (visit) => {
    const application = await readApplication(visit);
    const range = rangeOf(visit.query('range'));
    const series = await loadSeries(visit.api, REQUEST_METRICS, { range, clientId: application.client_id });
    const path = `${pathOf(application)}/usage`;
    const isAway = series.requests.error !== undefined;
    const plots = requestPlots(series);
    return applicationView(application, {
      path: '/usage',
      charts: true,
      body: html`${rangePicker(path, range)}
<p>Usage of this application in the ${RANGES[range].title.toLowerCase()}.</p>
${refreshed(
  { id: 'usage', path: `${path}?range=${range}`, seconds: 5 },
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
