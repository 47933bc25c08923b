import { html } from '@gatehouse/ui/html';
import { loadSeries, RANGES, rangeOf } from '../api/analytics.ts';
import type { ApplicationPage } from '../api/application-types.ts';
import { attempt } from '../api/attempt.ts';
import {
  errorRate,
  figures,
  freshness,
  type Plot,
  plotGrid,
  rangePicker,
  totalText,
} from '../pages/plots.ts';
import type { DashboardRouter } from './dashboard-router.ts';

const METRICS = [
  'requests',
  'errors',
  'client_errors',
  'latency_p50',
  'latency_p95',
  'tokens_issued',
  'logins',
  'orders',
  'revenue',
  'notifications',
] as const;
const OF_EVERYBODY = new Set(['orders', 'revenue', 'notifications']);

/** The first page: how things have been going. */
export function addOverviewRoutes({ get }: DashboardRouter): void {
  get('/', async ({ api, person, query }) => {
    const range = rangeOf(query('range'));
    const sees = (metric: string) => person.role !== 'user' || !OF_EVERYBODY.has(metric);
    const [series, mine] = await Promise.all([
      loadSeries(api, METRICS.filter(sees), { range }),
      attempt(api.get<ApplicationPage>('/api/v1/applications', { limit: 1 })),
    ]);
    const line = (name: string, metric: (typeof METRICS)[number]) => ({ name, outcome: series[metric] });
    const plots: Plot[] = [
      { title: 'Requests', unit: 'count', lines: [line('Requests', 'requests')] },
      {
        title: 'Errors',
        unit: 'count',
        lines: [line('Ours (5xx)', 'errors'), line('The caller’s (4xx)', 'client_errors')],
      },
      { title: 'Latency', unit: 'ms', lines: [line('Median', 'latency_p50'), line('95 %', 'latency_p95')] },
      { title: 'Tokens issued', unit: 'count', lines: [line('Tokens', 'tokens_issued')] },
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
    const whose = person.role === 'user' ? 'What your applications did' : 'What all applications did';
    return {
      title: 'Overview',
      section: 'overview',
      charts: true,
      body: html`${isNew && welcome()}
${rangePicker('/dashboard', range)}
<p>${whose} in the ${RANGES[range].title.toLowerCase()}. Times are in UTC.</p>
${
  !isAway &&
  figures([
    ['Requests', totalText(series.requests, 'count')],
    ['Error rate', errorRate(series.errors, series.requests)],
    ['95 % within', totalText(series.latency_p95, 'ms')],
    ['Sign-ins', totalText(series.logins, 'count')],
    ...(sees('orders')
      ? ([
          ['Orders', totalText(series.orders, 'count')],
          ['Revenue', totalText(series.revenue, 'money')],
        ] as const)
      : []),
  ])
}
${isAway ? plotGrid(plots.slice(0, 1)) : plotGrid(plots)}
${freshness(series.requests)}
<section><h2>What you can do here</h2>
<ul class="choices">${SHORTCUTS.map(([href, title, what]) => html`<li><a class="choice" href="${href}"><strong>${title}</strong><span>${what}</span></a></li>`)}</ul></section>`,
    };
  });
}

const SHORTCUTS: [href: string, title: string, what: string][] = [
  ['/dashboard/applications/new', 'Create an application', 'Sign people in, or give a server its access.'],
  [
    '/dashboard/applications',
    'Find credentials',
    'Client ids, secrets and API keys; rotate them without downtime.',
  ],
  ['/dashboard/items', 'Look at data', 'Items, products and orders, as the API serves them.'],
];

function welcome() {
  return html`<section class="panel"><h2>Your first application</h2><p>An application has a client ID, and what it needs to get access tokens. Its quick start brings you to the first request in minutes.</p><p><a class="button primary" href="/dashboard/applications/new">Create an application</a></p></section>`;
}
