import { form } from '@gatehouse/web/form';
import { html } from '@gatehouse/web/html';
import type { ApplicationPage } from '../../api/application-types.ts';
import { attempt } from '../../api/attempt.ts';
import type { ApiPage } from '../../api/pages.ts';
import { refreshed } from '../../pages/parts.ts';
import type { DashboardRouter } from '../../routes/dashboard-router.ts';
import { loadSeries, RANGES, rangeOf } from './analytics.ts';
import {
  figures,
  freshness,
  type Plot,
  plotGrid,
  REQUEST_METRICS,
  rangePicker,
  requestFigures,
  requestPlots,
  totalText,
} from './plots.ts';
import { createSampleData } from './sample-data.ts';

const METRICS = [...REQUEST_METRICS, 'logins', 'orders', 'revenue', 'notifications'] as const;
const OF_EVERYBODY = new Set(['orders', 'revenue', 'notifications']);

/** The first page: how things have been going. */
export function addOverviewRoutes(
  { get, postOnce }: DashboardRouter,
  { sampleData = false }: { sampleData?: boolean },
): void {
  postOnce('/sample-data', async ({ api, person }) => {
    await createSampleData(api, person.id);
    return '/dashboard?done=samples';
  });

  get('/', async ({ api, person, query, csrf }) => {
    const range = rangeOf(query('range'));
    const sees = (metric: string) => person.role !== 'user' || !OF_EVERYBODY.has(metric);
    const mayFill = sampleData && person.role === 'admin';
    const [series, mine, products] = await Promise.all([
      loadSeries(api, METRICS.filter(sees), { range }),
      attempt(api.get<ApplicationPage>('/api/v1/applications', { limit: 1 })),
      mayFill ? attempt(api.get<ApiPage<unknown>>('/v2/products', { limit: 1 })) : undefined,
    ]);
    const line = (name: string, metric: (typeof METRICS)[number]) => ({ name, outcome: series[metric] });
    const plots: Plot[] = [
      ...requestPlots(series),
      { title: 'Sign-ins', unit: 'count', lines: [line('Sign-ins', 'logins')] },
      ...(sees('orders')
        ? ([
            { title: 'Orders', unit: 'count', lines: [line('Orders', 'orders')] },
            { title: 'Revenue', unit: 'money', lines: [line('Revenue', 'revenue')] },
            { title: 'Notifications', unit: 'count', lines: [line('Notifications', 'notifications')] },
          ] as const)
        : []),
    ];
    const isNew = mine.value?.data.length === 0;
    const isAway = Object.values(series).every(({ error }) => error !== undefined);
    const whose = person.role === 'user' ? 'Usage of your applications' : 'Usage of all applications';
    const usage = html`${rangePicker('/dashboard', range)}
<p>${whose} in the ${RANGES[range].title.toLowerCase()}.</p>
${refreshed(
  { id: 'figures', path: `/dashboard?range=${range}`, seconds: 5 },
  html`${
    !isAway &&
    figures([
      ...requestFigures(series),
      ['Sign-ins', totalText(series.logins, 'count')],
      ...(sees('orders')
        ? ([
            ['Orders', totalText(series.orders, 'count')],
            ['Revenue', totalText(series.revenue, 'money')],
          ] as const)
        : []),
    ])
  }
${plotGrid(isAway ? plots.slice(0, 1) : plots)}
${freshness(series.requests)}`,
)}`;
    return {
      title: 'Overview',
      section: 'overview',
      charts: true,
      notice: query('done') === 'samples' ? 'The sample data is created.' : undefined,
      body: html`${isNew && welcome()}${products?.value?.data.length === 0 && sampleOffer(csrf)}
${!(isNew && person.role === 'user') && usage}
<section><h2>Shortcuts</h2>
<ul class="choices">${SHORTCUTS.map(([href, title, description]) => html`<li><a class="choice" href="${href}"><strong>${title}</strong><span>${description}</span></a></li>`)}</ul></section>`,
    };
  });
}

const SHORTCUTS: [href: string, title: string, description: string][] = [
  ['/dashboard/applications/new', 'New application', 'Sign people in, or give a server access to the API.'],
  [
    '/dashboard/applications',
    'Manage credentials',
    'Client IDs, secrets and API keys, and their rotation without downtime.',
  ],
  ['/dashboard/items', 'View data', 'Items, products and orders, as the API returns them.'],
  ['/docs', 'Read the documentation', 'Guides, and every operation with a request to copy.'],
];

function sampleOffer(csrf: string) {
  return html`<section class="panel"><h2>Sample data</h2><p>This deployment has no products yet. Create three products, two items and three orders to see the pages with data.</p>${form(
    { action: '/dashboard/sample-data', csrf },
    html`<div class="buttons"><button class="secondary">Create sample data</button></div>`,
  )}</section>`;
}

function welcome() {
  return html`<section class="panel"><h2>Your first application</h2><p>An application has a client ID and credentials for access tokens. Its quick start shows how to send the first request in minutes. Its usage is then shown here.</p><p><a class="button primary" href="/dashboard/applications/new">New application</a></p></section>`;
}
