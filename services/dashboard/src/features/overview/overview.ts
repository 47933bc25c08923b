import { form } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import type { Api } from '../../api/api.ts';
import { attempt } from '../../api/attempt.ts';
import type { ApiPage } from '../../api/pages.ts';
import { choiceLinks } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import type { Section } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';
import { agentSection } from './agents.ts';
import { loadSeries, rangeOf } from './analytics.ts';
import { figureOf, REQUEST_METRICS, requestFigures, type Unit } from './figures.ts';
import { firstSteps, progressOf } from './first-steps.ts';
import { requestPlots, usageOver } from './plots.ts';
import { createSampleData } from './sample-data.ts';

type Measure = {
  metric: 'logins' | 'orders' | 'revenue' | 'notifications';
  title: string;
  unit: Unit;
  /** Whether it is of all people, and not for those who see their own data only. */
  isOfAll?: boolean;
  isFigure?: boolean;
};

/** The metrics that are shown beside requests. */
const MEASURES: readonly Measure[] = [
  { metric: 'logins', title: 'Sign-ins', unit: 'count', isFigure: true },
  { metric: 'orders', title: 'Orders', unit: 'count', isOfAll: true, isFigure: true },
  { metric: 'revenue', title: 'Revenue', unit: 'money', isOfAll: true, isFigure: true },
  { metric: 'notifications', title: 'Notifications', unit: 'count', isOfAll: true },
];

/** The first page: how things have been going. */
export function overview({
  sampleData = false,
  invitationNotice,
}: {
  sampleData?: boolean;
  /** The invitations to applications that wait for the person. */
  invitationNotice(api: Api, csrf: string): Promise<Content>;
}): Section {
  async function view({ api, ctx, person, query, csrf }: Visit): Promise<View> {
    const range = rangeOf(query('range'));
    const measures = MEASURES.filter(({ isOfAll }) => person.role !== 'user' || !isOfAll);
    const metrics = [...REQUEST_METRICS, ...measures.map(({ metric }) => metric)];
    const mayFill = sampleData && person.role === 'admin';
    // The figures are loaded again every few seconds, and the table below them is not.
    const isPolling = ctx.get('x-polling') === 'true';
    const [series, progress, invitations, products, agents] = await Promise.all([
      loadSeries(api, metrics, { range }),
      progressOf(api),
      invitationNotice(api, csrf),
      mayFill ? attempt(api.get<ApiPage<unknown>>('/v2/products', { limit: 1 })) : undefined,
      !isPolling && agentSection(api, { range }),
    ]);
    const isNew = progress !== undefined && progress.application === undefined;
    const usage = usageOver(range, {
      id: 'figures',
      path: '/dashboard',
      whose: person.role === 'user' ? 'Usage of your applications' : 'Usage of all applications',
      isAway: Object.values(series).every(({ error }) => error !== undefined),
      figures: [
        ...requestFigures(series),
        ...measures
          .filter(({ isFigure }) => isFigure)
          .map(({ metric, title, unit }) => figureOf(title, series[metric], unit)),
      ],
      plots: [
        ...requestPlots(series),
        ...measures.map(({ metric, title, unit }) => {
          return { title, unit, lines: [{ name: title, outcome: series[metric] }] };
        }),
      ],
      requests: series.requests,
    });
    return {
      title: 'Overview',
      section: 'overview',
      charts: true,
      notice: query('done') === 'samples' ? 'The sample data is created.' : undefined,
      body: html`${invitations}${progress && firstSteps(progress)}${products?.value?.data.length === 0 && sampleOffer(csrf)}
${!(isNew && person.role === 'user') && usage}${agents}
<section><h2>Shortcuts</h2>
${choiceLinks(SHORTCUTS)}</section>`,
    };
  }

  return {
    name: 'overview',
    title: 'Overview',
    addRoutes({ get, postOnce }) {
      get('/', view);
      postOnce('/sample-data', async ({ api, person }) => {
        await createSampleData(api, person.id);
        return '/dashboard?done=samples';
      });
    },
  };
}

const SHORTCUTS = [
  {
    href: '/dashboard/applications/new',
    title: 'New application',
    text: 'Sign people in, or give a server access to the API.',
  },
  {
    href: '/dashboard/applications',
    title: 'Manage credentials',
    text: 'Client IDs, secrets and API keys, and their rotation without downtime.',
  },
  {
    href: '/dashboard/items',
    title: 'View data',
    text: 'Items, products and orders, as the API returns them.',
  },
  {
    href: '/docs',
    title: 'Read the documentation',
    text: 'Guides, and every operation with a request to copy.',
  },
];

function sampleOffer(csrf: string) {
  return html`<section class="panel"><h2>Sample data</h2><p>This deployment has no products yet. Create three products, two items and three orders to see the pages with data.</p>${form(
    { action: '/dashboard/sample-data', csrf },
    html`<div class="buttons"><button class="secondary">Create sample data</button></div>`,
  )}</section>`;
}
