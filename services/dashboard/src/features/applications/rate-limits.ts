import { html } from '@gatehouse/web/html';
import { queryText } from '../../api/api.ts';
import { namesOfApplications } from '../../api/names.ts';
import type { ApiPage } from '../../api/pages.ts';
import { applicationLink, limitMeter, number } from '../../pages/parts.ts';
import { listSection } from '../../resources/resource-list.ts';
import type { Section } from '../../routes/dashboard-router.ts';

type LimitUse = {
  client_id: string;
  service: string | null;
  busiest_minute: number;
  rate_limited: number;
  /** The limit of a minute at a service. */
  limit: number;
};

const API = '/api/v1/analytics/rate-limits';

/** The applications that are near the rate limit, the nearest first. */
export function rateLimits({ rateLimit }: { rateLimit?: 'on' | 'off' }): Section {
  return listSection<LimitUse>({
    name: 'rate-limits',
    noun: ['application', 'applications'],
    title: 'Rate limits',
    api: API,
    introduction:
      rateLimit === 'off'
        ? html`<p>Requests are not limited in this deployment. These are the requests that would count.</p>`
        : html`<p>The applications by their busiest minute of the last hour, the nearest to the limit first. The requests of all people who use an application count together here, while each of them has a limit of their own. <a href="/docs/guides/requests">What to do about 429</a></p>`,
    filters: [],
    async find({ api }) {
      const { data, limit } = await api.get<ApiPage<LimitUse> & { limit: number }>(API);
      return { data: data.map((it) => ({ ...it, limit })) };
    },
    names: ({ api }) => namesOfApplications(api),
    columns: [
      {
        title: 'Application',
        show: ({ client_id: id }, names) => applicationLink(id, names, '/usage'),
      },
      {
        title: 'Busiest minute',
        show: ({ service, busiest_minute: value, limit }) =>
          service === null ? 'No requests' : limitMeter(service, value, limit),
      },
      { title: 'Service', show: ({ service }) => service ?? '–' },
      {
        title: '429, last 24 hours',
        number: true,
        show: ({ client_id: client, rate_limited: count }) =>
          count === 0
            ? '0'
            : html`<a href="/dashboard/requests${queryText({ client, status: 429 })}">${number(count)}</a>`,
      },
    ],
    empty: html`<p><strong>No application is near a limit.</strong> The applications that have sent requests in the last hour are listed here, with the share of their rate limit. <a href="/dashboard/applications">See the applications</a>.</p>`,
  });
}
