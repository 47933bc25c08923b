import type { Application } from '../../api/application-types.ts';
import type { Part } from '../../resources/resource.ts';
import { loadSeries, rangeOf } from '../overview/analytics.ts';
import { REQUEST_METRICS, requestFigures, requestPlots, totalText, usageOver } from '../overview/plots.ts';

/** The usage of one application over time. */
export const usage: Part<Application> = {
  title: 'Usage',
  charts: true,
  async view({ visit, value, path }) {
    const range = rangeOf(visit.query('range'));
    const series = await loadSeries(visit.api, REQUEST_METRICS, { range, clientId: value.client_id });
    return usageOver(range, {
      id: 'usage',
      path: `${path}/usage`,
      whose: 'Usage of this application',
      isAway: series.requests.error !== undefined,
      figures: [...requestFigures(series), ['Tokens issued', totalText(series.tokens_issued, 'count')]],
      plots: requestPlots(series),
      requests: series.requests,
    });
  },
};
