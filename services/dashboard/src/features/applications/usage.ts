import { html } from '@gatehouse/web/html';
import type { Application } from '../../api/application-types.ts';
import type { Part } from '../../resources/resource.ts';
import { agentSection } from '../overview/agents.ts';
import { loadSeries, rangeOf } from '../overview/analytics.ts';
import { figureOf, REQUEST_METRICS, requestFigures } from '../overview/figures.ts';
import { requestPlots, usageOver } from '../overview/plots.ts';
import { limitSection, usageTables } from './usage-tables.ts';

/** The usage of one application over time. */
export const usage = ({ rateLimit }: { rateLimit?: 'on' | 'off' }): Part<Application> => ({
  title: 'Usage',
  charts: true,
  async view({ visit, value, path }) {
    const range = rangeOf(visit.query('range'));
    const { client_id: clientId } = value;
    // The plots are loaded again every few seconds, and the tables below them are not.
    const isPolling = visit.ctx.get('x-polling') === 'true';
    const isLimited = rateLimit !== 'off';
    const shown = { application: value, range };
    const [series, limit, tables, agents] = await Promise.all([
      loadSeries(visit.api, REQUEST_METRICS, { range, clientId }),
      limitSection(visit.api, { ...shown, isLimited }),
      !isPolling && usageTables(visit.api, shown),
      !isPolling && agentSection(visit.api, { range, clientId }),
    ]);
    const isAway = series.requests.error !== undefined;
    return html`${usageOver(range, {
      id: 'usage',
      path: `${path}/usage`,
      whose: 'Usage of this application',
      isAway,
      figures: [
        ...requestFigures(series, clientId),
        figureOf('Tokens issued', series.tokens_issued, 'count'),
      ],
      below: limit,
      plots: requestPlots(series),
      requests: series.requests,
    })}${!isAway && tables}${agents}`;
  },
});
