import { AUDIT_ACTIONS, type AuditAction } from '@gatehouse/domain/audit-actions';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { describeProgram } from '@gatehouse/web/user-agent';
import { type Api, queryText } from '../../api/api.ts';
import { attempt } from '../../api/attempt.ts';
import { dayAgo, dayEndOf, instantOf } from '../../api/instants.ts';
import { clientIdsOf, USER_HINT, userIdOf } from '../../api/lookups.ts';
import { type Names, namesOfApplications, namesOfUsers, withoutLinks } from '../../api/names.ts';
import { type ApiPage, filters } from '../../api/pages.ts';
import { applicationLink, exactTime, facts, userLink } from '../../pages/parts.ts';
import { type ListQuery, listSection } from '../../resources/resource-list.ts';
import type { Visit } from '../../routes/visit.ts';
import { hasRole } from '../../sessions/session.ts';

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

/** The audit log: for admins, who did what to whom and what, when and from where; for others, what was done to their applications. */
export const auditLog = listSection<Entry>({
  name: 'audit',
  noun: ['entry', 'entries'],
  title: 'Audit log',
  api: '/api/v1/audit',
  introduction: ({ person, query }) =>
    html`<p>${
      person.role === 'admin'
        ? 'Changes to accounts, applications, keys and queues, and every sign-in.'
        : 'Changes to your applications and their credentials.'
    } The latest entries come first.</p>
${dayRanges(query)}`,
  filters: [
    { name: 'action', label: 'Action', options: Object.entries(AUDIT_ACTIONS) },
    { name: 'actor', label: 'Actor', hint: USER_HINT, role: 'admin' },
    { name: 'subject', label: 'Account', hint: USER_HINT, role: 'admin' },
    { name: 'client', label: 'Application', hint: 'Name or client ID', suggested: namesOfApplications },
    { name: 'address', label: 'Address', hint: 'IP address', role: 'admin' },
    { name: 'from', label: 'Since', type: 'date' },
    { name: 'to', label: 'Until', type: 'date' },
  ],
  find: entriesOf,
  async names({ api, person }, rows) {
    const ids = rows.flatMap((it) => [it.actor, it.subject, memberIn(it)]);
    const isEditor = hasRole(person, 'editor');
    const [people, applications, invited] = await Promise.all([
      isEditor ? namesOfUsers(api, ids) : new Map([[person.id, person.name]]),
      namesOfApplications(api),
      rows.some(({ details: { invitation } }) => invitation !== undefined) ? invitedAddresses(api) : [],
    ]);
    const names = new Map([...people, ...applications, ...invited]);
    return isEditor ? names : withoutLinks(names);
  },
  columns: [
    { title: 'Action', show: actionOf },
    { title: 'Time', show: ({ created_at: at }) => exactTime(at) },
    { title: 'Actor', show: ({ actor }, names) => (actor === null ? '–' : userLink(actor, names)) },
    { title: 'Object', show: objectOf },
    {
      title: 'Application',
      show: ({ client }, names) => (client === null ? '–' : applicationLink(client, names)),
    },
    { title: 'Address', show: where },
    { title: 'Details', show: details },
  ],
  empty: html`<p><strong>There are no entries yet.</strong> Sign-ins, and changes to accounts, applications and keys are listed here.</p>`,
});

const RANGES = [
  { title: 'Today', from: 0, to: 0 },
  { title: 'Yesterday', from: 1, to: 1 },
  { title: 'Last 7 days', from: 6, to: 0 },
] as const;

/** Links to the entries of the last days, with the rest of the search as it is. */
function dayRanges(query: Visit['query']): Html {
  const kept = ['action', 'actor', 'subject', 'client', 'address'].map(
    (name) => [name, query(name)] as const,
  );
  const links = RANGES.map(({ title, ...days }) => {
    const [from, to] = [dayAgo(days.from), dayAgo(days.to)];
    const isCurrent = query('from') === from && query('to') === to;
    const asked = [...kept, ['from', from] as const, ['to', to] as const].filter(([, value]) => value !== '');
    return html`<a href="/dashboard/audit${queryText(Object.fromEntries(asked))}"${isCurrent && html` aria-current="true"`}>${title}</a>`;
  });
  return html`<nav class="ranges" aria-label="Range of time">${links}</nav>`;
}

async function entriesOf({ api }: Visit, query: ListQuery): Promise<ApiPage<Entry>> {
  const { from = '', to = '', actor = '', subject = '', client = '', cursor, ...equal } = query;
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
      'created_at][gte': instantOf(from),
      'created_at][lt': dayEndOf(to),
    }),
    ...(clients.length === 0 ? {} : { 'filter[client][in]': clients.join(',') }),
  });
}

/** The addresses of the invitations that wait, by their ids: the log keeps no addresses. */
async function invitedAddresses(api: Api): Promise<(readonly [id: string, email: string])[]> {
  const { value } = await attempt(api.get<{ data: { id: string; email: string }[] }>('/api/v1/invitations'));
  return (value?.data ?? []).map(({ id, email }) => [id, email]);
}

const ABOUT_APPLICATIONS = /^(?:application|secret|api_key|consent|grant)\.|^member\.accepted$/;

/** The id of the person who was invited, given another role or removed; null in other entries. */
function memberIn({ action, details: { user } }: Pick<Entry, 'action' | 'details'>): string | null {
  return action.startsWith('member.') && typeof user === 'string' ? user : null;
}

function actionOf({ action, details: { change, scope, to } }: Entry): string {
  if (action === 'account.changed' && change === 'status') {
    return to === 'active' ? 'Account activated' : 'Account deactivated';
  }
  if (action !== 'account.changed' || change !== 'revoked')
    return AUDIT_ACTIONS[action as AuditAction] ?? action;
  return scope === 'everything' ? 'All access revoked' : 'All secrets and keys ended';
}

/** The object of the action: an application, an account, or neither. */
function objectOf({ action, subject, actor, client, details: more }: Entry, names: Names): Content {
  if (ABOUT_APPLICATIONS.test(action) && client !== null) return applicationLink(client, names);
  const member = memberIn({ action, details: more });
  if (member !== null) return userLink(member, names);
  if (subject === null) return nameIn(more, names);
  return subject === actor ? 'own account' : userLink(subject, names);
}

/** The name of an object that is neither an application nor an account. */
function nameIn({ identifier, resource, provider, invitation }: Entry['details'], names: Names): Content {
  const invited = names.get(String(invitation));
  const text = [identifier, resource, provider, invited].find((it) => typeof it === 'string');
  return text === undefined ? '–' : html`<bdi>${text as string}</bdi>`;
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
  return html`<details><summary>Show</summary>${facts([...entries.map(([name, value]) => [name, text(value)] as const), ['request', request]])}</details>`;
}
