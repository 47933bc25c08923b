import { type Html, html } from '@gatehouse/web/html';
import type { Api } from '../../api/api.ts';
import { namesOfApplications, namesOfUsers } from '../../api/names.ts';
import { applicationLink, number, userLink } from '../../pages/parts.ts';
import { table } from '../../pages/table.ts';
import { loadSeries, type Range } from './analytics.ts';

/** The applications and admins that acted for people, through one application or all; false if there were none. */
export async function agentSection(api: Api, of: { range: Range; clientId?: string }): Promise<Html | false> {
  const { value: series } = (await loadSeries(api, ['agent_requests'], of)).agent_requests;
  const rows = (series?.totals ?? []).map(({ actor, value }) => ({
    actor: String(actor),
    count: value ?? 0,
  }));
  if (rows.length === 0) return false;
  const [applications, people] = await Promise.all([
    namesOfApplications(api),
    namesOfUsers(
      api,
      rows.map(({ actor }) => actor).filter((it) => it.startsWith('usr_')),
    ),
  ]);
  const nameOf = (id: string) =>
    id.startsWith('usr_') ? html`${userLink(id, people)} (admin)` : applicationLink(id, applications);
  return html`<section><h2>Requests by agent</h2>
<p>Applications that acted for people by <a href="/docs/guides/agents">token exchange</a>, and admins who impersonated a user. A request of a chain of applications counts for each of them.</p>
${table(
  [
    {
      title: 'Agent',
      show: ({ actor }: (typeof rows)[number]) => (actor === 'other' ? 'Others' : nameOf(actor)),
    },
    { title: 'Requests', number: true, show: ({ count }: (typeof rows)[number]) => number(count) },
  ],
  rows,
)}</section>`;
}
