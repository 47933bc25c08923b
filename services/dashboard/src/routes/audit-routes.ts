import { type Content, html } from '@gatehouse/ui/html';
import { describeProgram } from '@gatehouse/ui/user-agent';
import type { Api } from '../api/api.ts';
import { attempt } from '../api/attempt.ts';
import { clientIdsOf, USER_HINT, userIdOf } from '../api/lookups.ts';
import { namesOfApplications, namesOfUsers } from '../api/names.ts';
import { type ApiPage, filters } from '../api/pages.ts';
import { ACTIONS } from '../pages/audit-texts.ts';
import { list } from '../pages/list.ts';
import { applicationLink, time, userLink } from '../pages/parts.ts';
import type { DashboardRouter } from './dashboard-router.ts';

type Entry = {
  id: string;
  action: string;
  created_at: string;
  actor: string | null;
  subject: string | null;
  client: string | null;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
  details: Record<string, unknown>;
};

const PATH = '/dashboard/audit';

/** The audit log, for admins: who did what to whom and what, when and from where. */
export function addAuditRoutes({ get }: DashboardRouter): void {
  get('/audit', async ({ api, query }) => {
    const values = {
      action: query('action'),
      actor: query('actor'),
      subject: query('subject'),
      client: query('client'),
      address: query('address'),
      from: query('from'),
      to: query('to'),
    };
    const cursor = query('cursor');
    const outcome = await attempt(entriesOf(api, values, cursor));
    const ids = (outcome.value?.data ?? []).flatMap(({ actor, subject }) => [actor, subject]);
    const [people, applications] = await Promise.all([namesOfUsers(api, ids), namesOfApplications(api)]);
    return {
      title: 'Audit log',
      section: 'audit',
      body: html`<p>What people and applications did to accounts, applications, keys and queues, the latest first.</p>
${list({
  path: PATH,
  noun: ['entry', 'entries'],
  search: [
    { kind: 'choice', name: 'action', label: 'What', options: Object.entries(ACTIONS) },
    { kind: 'text', name: 'actor', label: 'Who did it', hint: USER_HINT },
    { kind: 'text', name: 'subject', label: 'To whom', hint: USER_HINT },
    { kind: 'text', name: 'client', label: 'Application', hint: 'Name or client id' },
    { kind: 'text', name: 'address', label: 'Address', hint: 'IP address' },
    { kind: 'day', name: 'from', label: 'Since' },
    { kind: 'day', name: 'to', label: 'Until' },
  ],
  values,
  cursor,
  outcome,
  columns: [
    { title: 'What', show: ({ action }) => ACTIONS[action] ?? action },
    { title: 'When', show: ({ created_at: at }) => time(at) },
    { title: 'Who did it', show: ({ actor }) => (actor === null ? '–' : userLink(actor, people)) },
    {
      title: 'To whom',
      show: ({ subject, actor }) =>
        subject === null ? '–' : subject === actor ? 'themselves' : userLink(subject, people),
    },
    {
      title: 'Application',
      show: ({ client }) => (client === null ? '–' : applicationLink(client, applications)),
    },
    { title: 'From', show: where },
    { title: 'Details', show: details },
  ],
  empty: html`<p><strong>Nothing has been recorded yet.</strong></p>`,
})}`,
    };
  });
}

async function entriesOf(api: Api, values: Record<string, string>, cursor: string): Promise<ApiPage<Entry>> {
  const { from, to, actor = '', subject = '', client = '', ...equal } = values;
  const [actorId, subjectId, clients] = await Promise.all([
    userIdOf(api, actor),
    userIdOf(api, subject),
    clientIdsOf(api, client),
  ]);
  return api.get('/api/v1/audit', {
    cursor,
    ...filters({
      ...equal,
      actor: actorId,
      subject: subjectId,
      // The last day is meant as well; what is no day is left to the API to refuse.
      'created_at][gte': from,
      'created_at][lte': to && `${to}T23:59:59.999Z`,
    }),
    ...(clients.length === 0 ? {} : { 'filter[client][in]': clients.join(',') }),
  });
}

function where({ address, user_agent: agent }: Entry): Content {
  if (address === null) return '–';
  return html`${address}<br><span class="hint">${describeProgram(agent ?? undefined)}</span>`;
}

function details({ details: more, request_id: request }: Entry): Content {
  const entries = Object.entries(more);
  if (entries.length === 0 && request === null) return '–';
  const text = (value: unknown): string => {
    if (Array.isArray(value)) return value.map(text).join(', ');
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  return html`<details><summary>Show</summary><dl class="facts">${entries.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${text(value)}</dd></div>`,
  )}${request !== null && html`<div><dt>request</dt><dd>${request}</dd></div>`}</dl></details>`;
}
