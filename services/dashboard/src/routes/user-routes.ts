import { form } from '@gatehouse/web/form';
import { html } from '@gatehouse/web/html';
import { describeProgram } from '@gatehouse/web/user-agent';
import { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import { findUser, listUsers } from '../api/user-list.ts';
import { changes } from '../http/changes.ts';
import { deletionQuestion, deletionSection } from '../pages/deletion.ts';
import { errorOf, formProblem, selectField, textField } from '../pages/fields.ts';
import { choicesOf, list } from '../pages/list.ts';
import { entryOf } from '../pages/parts.ts';
import {
  type ApiSession,
  authority,
  openText,
  ROLE_CHOICES,
  sessionSection,
  USER_COLUMNS,
  userFacts,
} from '../pages/user-pages.ts';
import type { View } from '../pages/view.ts';
import { addConfirmed } from './confirmed.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

const PATH = '/dashboard/users';
const TRAIL = [{ href: PATH, title: 'Users' }];
const LOST =
  'The person can no longer sign in. Their items, applications, API keys, notifications and reports are deleted; their orders are kept without their name.';
const NOTICES: Record<string, string> = {
  role: 'The role is changed.',
  inactive: 'The account is deactivated, and all its sessions have ended.',
  active: 'The account is active.',
  ended: 'The session has ended, and its tokens no longer work.',
  all_ended: 'All sessions have ended, and their tokens no longer work.',
  deleted: 'The account is deleted.',
  created: 'The account is created.',
  without_role: 'The account is created, but the role could not be set. Set the role below.',
};

/** Users, for editors to see and for admins to manage. */
export function addUserRoutes(router: DashboardRouter): void {
  const { get, post } = router;
  const pathOf = (visit: Visit) => `${PATH}/${visit.id('usr')}`;
  const apiPath = (visit: Visit) => `/v2/users/${visit.id('usr')}`;
  const sessions = (visit: Visit, id = '') =>
    `/api/v1/sessions${id === '' ? '' : `/${encodeURIComponent(id)}`}?${new URLSearchParams({ user_id: visit.id('usr') })}`;

  get('/users', async ({ api, query, person }) => {
    const values = {
      q: query('q'),
      role: query('role'),
      status: query('status'),
      sort: query('sort'),
    };
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
          { kind: 'text', name: 'q', label: 'Username, name, email or ID' },
          { kind: 'choice', name: 'role', label: 'Role', options: choicesOf(['user', 'editor', 'admin']) },
          { kind: 'choice', name: 'status', label: 'Status', options: choicesOf(['active', 'inactive']) },
          {
            ...{ kind: 'choice', name: 'sort', label: 'Sort by', none: 'Newest first' },
            options: [
              ['oldest', 'Oldest first'],
              ['username', 'Username'],
              ['email', 'Email'],
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
    const account = { username: fields.text('username'), email: fields.text('email') };
    const role = fields.text('role');
    let id: string;
    try {
      const password = fields.all('password')[0] ?? '';
      // This profile names the fields that are wrong, and has no roles.
      ({ id } = await api.send<{ id: string }>('POST', '/v2/users', { ...account, password }));
    } catch (error) {
      return newUser(csrf, { ...account, role }, errorOf(error));
    }
    const path = `/v2/users/${encodeURIComponent(id)}`;
    const given = role === 'user' ? undefined : await attempt(api.send('PUT', `${path}/role`, { role }));
    return `${PATH}/${encodeURIComponent(id)}?done=${given?.error === undefined ? 'created' : 'without_role'}`;
  });

  get('/users/:id', (visit) => view(visit, { notice: entryOf(NOTICES, visit.query('done')) }));

  post('/users/:id/role', async (visit, fields) => {
    const user = await findUser(visit.api, anotherPerson(visit));
    const { role = user.role } = changes(fields, { role: fields.text('role') }, { role: user.role });
    await visit.api.send('PUT', `${apiPath(visit)}/role`, { role }, user.etag);
    return `${pathOf(visit)}?done=role`;
  });

  async function changeStatus(visit: Visit, status: 'active' | 'inactive'): Promise<string> {
    anotherPerson(visit);
    await visit.api.send('PUT', `${apiPath(visit)}/status`, { status });
    return `${pathOf(visit)}?done=${status}`;
  }

  post('/users/:id/activate', (visit) => changeStatus(visit, 'active'));

  addConfirmed(router, '/users/:id/deactivate', async (visit) => {
    anotherPerson(visit);
    const { user, open } = await readAll(visit);
    const name = user.username ?? user.id;
    return {
      ...question(visit, name),
      title: `Deactivate ${name}?`,
      lost: html`<p>${name} can no longer sign in. ${openText(open)} Their applications stop working, too. Nothing is deleted: an admin can activate the account again.</p>`,
      submit: 'Deactivate account',
      act: () => changeStatus(visit, 'inactive'),
    };
  });

  post('/users/:id/sessions/end', async (visit, fields) => {
    await visit.api.send('DELETE', sessions(visit, fields.required('id')));
    return `${pathOf(visit)}?done=ended`;
  });

  addConfirmed(router, '/users/:id/sessions/end-all', async (visit) => {
    const { user, open } = await readAll(visit);
    const name = user.username ?? user.id;
    return {
      ...question(visit, name),
      title: `End all sessions of ${name}?`,
      lost: html`<p>${openText(open)} The person has to sign in again in every browser and program.</p>`,
      submit: 'End all sessions',
      async act() {
        await visit.api.send('DELETE', sessions(visit));
        return `${pathOf(visit)}?done=all_ended`;
      },
    };
  });

  addConfirmed(router, '/users/:id/delete', async (visit) => {
    anotherPerson(visit);
    const { user, open } = await readAll(visit);
    const name = user.username ?? user.id;
    const { section, trail } = { ...question(visit, name), trail: TRAIL };
    const lost = html`${LOST} ${openText(open)}`;
    return {
      ...deletionQuestion({ path: pathOf(visit), what: 'account', name, lost, section, trail }),
      async act() {
        await visit.api.send('DELETE', apiPath(visit));
        return `${PATH}?done=deleted`;
      },
    };
  });

  const question = (visit: Visit, name: string) => ({
    section: 'users' as const,
    trail: [...TRAIL, { href: pathOf(visit), title: name }],
    back: pathOf(visit),
  });

  /** Somebody with their sessions, which only admins see. */
  async function readAll(visit: Visit) {
    const [user, open] = await Promise.all([
      findUser(visit.api, visit.id('usr')),
      attempt(visit.api.get<{ data: ApiSession[] }>(sessions(visit))),
    ]);
    return { user, open };
  }

  async function view(visit: Visit, { notice }: { notice?: string | undefined }): Promise<View> {
    const { api, csrf, person } = visit;
    const isAdmin = person.role === 'admin';
    const { user, open } = isAdmin
      ? await readAll(visit)
      : { user: await findUser(api, visit.id('usr')), open: undefined };
    const common = { path: pathOf(visit), csrf };
    const describe = (userAgent: string | null) => describeProgram(userAgent ?? undefined);
    const isSelf = user.id === person.id;
    return {
      title: user.username ?? user.id,
      section: 'users',
      trail: TRAIL,
      notice,
      body: html`${userFacts(user)}
${isAdmin && html`<p><a href="/dashboard/audit?${new URLSearchParams({ subject: user.id }).toString()}">Audit log of this account</a> · <a href="/dashboard/audit?${new URLSearchParams({ actor: user.id }).toString()}">Actions of this user</a> · <a href="/dashboard/orders?${new URLSearchParams({ q: user.id }).toString()}">Orders of this user</a> · <a href="/dashboard/notifications/new?${new URLSearchParams({ user: user.id }).toString()}">Send a notification</a></p>`}
${isAdmin && authority(user, { ...common, isSelf })}
${open !== undefined && sessionSection(open, { ...common, describe })}
${isAdmin && !isSelf && deletionSection({ path: common.path, what: 'account', lost: LOST })}`,
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
${textField({ name: 'password', label: 'Password', type: 'password', required: true, autocomplete: 'new-password', hint: 'At least 8 characters. The person can change the password.', problems })}
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
  throw new ApiError(
    409,
    'You cannot change your own role or status, or delete your account here. Ask another admin.',
  );
}
