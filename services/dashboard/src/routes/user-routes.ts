import { form } from '@gatehouse/ui/form';
import { html } from '@gatehouse/ui/html';
import { describeProgram } from '@gatehouse/ui/user-agent';
import { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import { findUser, listUsers } from '../api/user-list.ts';
import { changes } from '../http/changes.ts';
import { deleteForm, isConfirmed } from '../pages/application-pages.ts';
import { formProblem, refusalOf, selectField, textField } from '../pages/fields.ts';
import { list } from '../pages/list.ts';
import { entryOf } from '../pages/parts.ts';
import {
  type ApiSession,
  authority,
  ROLE_CHOICES,
  sessionSection,
  USER_COLUMNS,
  userFacts,
} from '../pages/user-pages.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

const PATH = '/dashboard/users';
const TRAIL = [{ href: PATH, title: 'Users' }];
const NOTICES: Record<string, string> = {
  role: 'The role is changed.',
  inactive: 'The account is deactivated, and all its sessions have ended.',
  active: 'The account is active.',
  ended: 'The session has ended, and its tokens no longer work.',
  deleted: 'The account is deleted.',
  created: 'The account is created.',
};

/** Users, for editors to see and for admins to manage. */
export function addUserRoutes({ get, post }: DashboardRouter): void {
  const pathOf = (visit: Visit) => `${PATH}/${visit.id('usr')}`;
  const apiPath = (visit: Visit) => `/v2/users/${visit.id('usr')}`;
  const sessions = (visit: Visit, id = '') =>
    `/api/v1/sessions${id === '' ? '' : `/${encodeURIComponent(id)}`}?${new URLSearchParams({ user_id: visit.id('usr') })}`;

  get('/users', async ({ api, query, person }) => {
    const values = { q: query('q'), kind: query('kind') };
    const cursor = query('cursor');
    return {
      title: 'Users',
      section: 'users',
      notice: entryOf(NOTICES, query('done')),
      actions: person.role === 'admin' && html`<a class="primary" href="${PATH}/new">New user</a>`,
      body: list({
        path: PATH,
        noun: ['user', 'users'],
        search: [
          { kind: 'text', name: 'q', label: 'Username, email or id', hint: 'How it begins' },
          {
            kind: 'choice',
            name: 'kind',
            label: 'Role or status',
            options: [
              ['user', 'role: user'],
              ['editor', 'role: editor'],
              ['admin', 'role: admin'],
              ['active', 'active'],
              ['inactive', 'inactive'],
            ],
          },
        ],
        values,
        cursor,
        columns: USER_COLUMNS,
        outcome: await attempt(listUsers(api, { ...values, cursor })),
        empty: html`<p><strong>There are no users yet.</strong></p>`,
      }),
    };
  });

  get('/users/new', ({ csrf }) => newUser(csrf));

  post('/users/new', async ({ api, csrf }, fields) => {
    const values = {
      username: fields.text('username'),
      email: fields.text('email'),
      role: fields.text('role'),
    };
    try {
      const password = fields.all('password')[0] ?? '';
      const { id } = await api.send<{ id: string }>('POST', '/kb/api/v1/users', { ...values, password });
      return `${PATH}/${encodeURIComponent(id)}?done=created`;
    } catch (error) {
      return newUser(csrf, values, refusalOf(error));
    }
  });

  get('/users/:id', (visit) => view(visit, { notice: entryOf(NOTICES, visit.query('done')) }));

  post('/users/:id/role', async (visit, fields) => {
    const user = await findUser(visit.api, anotherPerson(visit));
    const { role = user.role } = changes(fields, { role: fields.text('role') }, { role: user.role });
    await visit.api.send('PUT', `${apiPath(visit)}/role`, { role }, user.etag);
    return `${pathOf(visit)}?done=role`;
  });

  post('/users/:id/status', async (visit, fields) => {
    anotherPerson(visit);
    const status = fields.text('status');
    await visit.api.send('PUT', `${apiPath(visit)}/status`, { status });
    return `${pathOf(visit)}?done=${status === 'active' ? 'active' : 'inactive'}`;
  });

  post('/users/:id/sessions/end', async (visit, fields) => {
    await visit.api.send('DELETE', sessions(visit, fields.required('id')));
    return `${pathOf(visit)}?done=ended`;
  });

  post('/users/:id/sessions/end-all', async (visit) => {
    await visit.api.send('DELETE', sessions(visit));
    return `${pathOf(visit)}?done=ended`;
  });

  post('/users/:id/delete', async (visit, fields) => {
    const user = await findUser(visit.api, visit.id('usr'));
    if (!isConfirmed(fields, user.username ?? user.id)) return view(visit, { wrongName: true });
    await visit.api.send('DELETE', apiPath(visit));
    return `${PATH}?done=deleted`;
  });

  async function view(
    visit: Visit,
    { notice, wrongName = false }: { notice?: string | undefined; wrongName?: boolean },
  ): Promise<View> {
    const { api, csrf, person } = visit;
    const isAdmin = person.role === 'admin';
    const [user, open] = await Promise.all([
      findUser(api, visit.id('usr')),
      isAdmin ? attempt(api.get<{ data: ApiSession[] }>(sessions(visit))) : undefined,
    ]);
    const common = { path: pathOf(visit), csrf };
    const describe = (userAgent: string | null) => describeProgram(userAgent ?? undefined);
    const isSelf = user.id === person.id;
    return {
      title: user.username ?? user.id,
      section: 'users',
      trail: TRAIL,
      notice,
      failed: wrongName,
      body: html`${userFacts(user)}
${isAdmin && html`<p><a href="/dashboard/audit?${new URLSearchParams({ subject: user.id }).toString()}">What happened to this account</a> · <a href="/dashboard/audit?${new URLSearchParams({ actor: user.id }).toString()}">What this person did</a> · <a href="/dashboard/orders?${new URLSearchParams({ q: user.id }).toString()}">Their orders</a> · <a href="/dashboard/notifications/new?${new URLSearchParams({ user: user.id }).toString()}">Send a notification</a></p>`}
${isAdmin && authority(user, { ...common, isSelf })}
${open !== undefined && sessionSection(open, { ...common, describe })}
${
  isAdmin &&
  !isSelf &&
  deleteForm({
    action: `${common.path}/delete`,
    csrf,
    name: user.username ?? user.id,
    what: 'account',
    consequence:
      'The person can no longer sign in, and their applications stop working. This cannot be undone.',
    wrong: wrongName,
  })
}`,
    };
  }
}

function newUser(
  csrf: string,
  values?: { username: string; email: string; role: string },
  error?: ApiError,
): View {
  const problems = error?.details ?? [];
  return {
    title: 'New user',
    section: 'users',
    trail: TRAIL,
    failed: error !== undefined,
    body: html`${formProblem(error, ['username', 'email', 'password', 'role'])}
${form(
  { action: `${PATH}/new`, csrf },
  html`${textField({ name: 'username', label: 'Username', value: values?.username ?? '', required: true, maxlength: 64, problems })}
${textField({ name: 'email', label: 'Email', type: 'email', value: values?.email ?? '', required: true, maxlength: 254, problems })}
${textField({ name: 'password', label: 'Password', type: 'password', required: true, autocomplete: 'new-password', hint: '8 characters or more. The person can change it.', problems })}
${selectField({ name: 'role', label: 'Role', required: true, value: values?.role ?? 'user', options: ROLE_CHOICES })}
<div class="buttons"><button class="primary">Create user</button></div>`,
  { class: 'wide-form' },
)}`,
  };
}

/** The id of the person whose page it is. Nobody takes their own authority away: there may be no other admin. */
function anotherPerson(visit: Visit): string {
  const id = visit.id('usr');
  if (id !== visit.person.id) return id;
  throw new ApiError(409, 'You cannot change your own role or status. Ask another admin.');
}
