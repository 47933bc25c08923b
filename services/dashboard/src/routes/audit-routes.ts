import { type Content, html } from '@gatehouse/web/html';
import { describeProgram } from '@gatehouse/web/user-agent';
import type { Api } from '../api/api.ts';
import { attempt } from '../api/attempt.ts';
import { clientIdsOf, USER_HINT, userIdOf } from '../api/lookups.ts';
import { type Names, namesOfApplications, namesOfUsers } from '../api/names.ts';
import { type ApiPage, filters } from '../api/pages.ts';
import { ACTIONS } from '../pages/audit-texts.ts';
import { list } from '../pages/list.ts';
import { applicationLink, exactTime, userLink } from '../pages/parts.ts';
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
      body: html`<p>Changes to accounts, applications, keys and queues, and every sign-in. The latest entries come first.</p>
${list({
  path: PATH,
  noun: ['entry', 'entries'],
  search: [
    { kind: 'choice', name: 'action', label: 'Action', options: Object.entries(ACTIONS) },
    { kind: 'text', name: 'actor', label: 'Actor', hint: USER_HINT },
    { kind: 'text', name: 'subject', label: 'Account', hint: USER_HINT },
    { kind: 'text', name: 'client', label: 'Application', hint: 'Name or client ID' },
    { kind: 'text', name: 'address', label: 'Address', hint: 'IP address' },
    { kind: 'day', name: 'from', label: 'Since (UTC)' },
    { kind: 'day', name: 'to', label: 'Until (UTC)' },
  ],
  values,
  cursor,
  outcome,
  columns: [
    { title: 'Action', show: ({ action }) => ACTIONS[action] ?? action },
    { title: 'Time', show: ({ created_at: at }) => exactTime(at) },
    { title: 'Actor', show: ({ actor }) => (actor === null ? '–' : userLink(actor, people)) },
    { title: 'Object', show: (entry) => objectOf(entry, { people, applications }) },
    {
      title: 'Application',
      show: ({ client }) => (client === null ? '–' : applicationLink(client, applications)),
    },
    { title: 'Address', show: where },
    { title: 'Details', show: details },
  ],
  empty: html`<p><strong>There are no entries yet.</strong></p>`,
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

const ABOUT_APPLICATIONS = /^(?:application|secret|api_key|consent|grant)\./;

/** What was acted on: an application, an account, or neither. */
function objectOf(
  { action, subject, actor, client }: Entry,
  { people, applications }: { people: Names; applications: Names },
): Content {
  if (ABOUT_APPLICATIONS.test(action) && client !== null) return applicationLink(client, applications);
  if (subject === null) return '–';
  return subject === actor ? 'own account' : userLink(subject, people);
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
