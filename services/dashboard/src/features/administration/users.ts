import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { USER_INPUTS } from '@gatehouse/domain/user-inputs';
import { TIME_ZONES } from '@gatehouse/web/appearance';
import { isConfirmed } from '@gatehouse/web/confirmation';
import { html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { attempt } from '../../api/attempt.ts';
import { namesOfApplications } from '../../api/names.ts';
import { changes } from '../../http/changes.ts';
import { statusTag, time } from '../../pages/parts.ts';
import { questionView } from '../../resources/confirmed.ts';
import type { ResourceQuestion, Target } from '../../resources/resource.ts';
import { inputFields } from '../../resources/resource-form.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { DashboardRouter } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';
import { userActions } from './user-actions.ts';
import { applicationsOf } from './user-applications.ts';
import { type ConsentList, consentQuestions, consentsPath } from './user-consents.ts';
import type { FactorList } from './user-factors.ts';
import { factorQuestions, factorsPath } from './user-factors.ts';
import { impersonationQuestions } from './user-impersonation.ts';
import { userImport } from './user-import.ts';
import { findUser, listUsers, withLastSignIns } from './user-list.ts';
import { type ApiSession, openText, type User, userPage } from './user-page.ts';
import { type ApiPicture, picturePath, pictureQuestions } from './user-picture.ts';
import { accessQuestions, grantedTrust } from './user-revocation.ts';
import { ROLES, roleQuestion } from './user-role.ts';

const { username, email, name, firstName, lastName, phone, locale, zoneinfo } = inputFields(USER_INPUTS, {
  email: { subject: 'The email address', type: 'email' },
  name: { hint: 'If it is empty, it is made of the other names.' },
  phone: { hint: 'Such as +49 30 1234567' },
  locale: { hint: 'A tag such as en or de-AT' },
  zoneinfo: { hint: 'Such as Europe/Berlin', suggestions: TIME_ZONES.map((zone) => [zone]) },
});

/** Users, for editors to see and for admins to manage. */
export const users = resourcePages<User>({
  name: 'users',
  noun: ['user', 'users'],
  api: '/v2/users',
  idPrefix: 'usr',
  role: 'editor',
  notices: {
    role: 'The role is changed.',
    inactive: 'The account is deactivated, and all its sessions have ended.',
    active: 'The account is active.',
    ended: 'The session has ended, and its tokens no longer work.',
    access_ended: 'The application no longer has access to the account.',
    reset_sent: 'The link is sent.',
    picture_removed: 'The picture is removed.',
    factor_removed: 'It is removed, and the person gets a mail.',
    all_ended: 'All sessions have ended, and their tokens no longer work.',
    revoked:
      'All access is revoked. Now send the person a link to choose a new password, look at the passkeys, and let the person check connected accounts and paused webhooks.',
    deleted: 'The account is deleted.',
    created: 'The account is created.',
    without_role: 'The account is created, but the role could not be set. Set the role below.',
  },
  filters: [
    { name: 'q', label: 'Username, name, email or ID' },
    { name: 'role', label: 'Role', options: ['user', 'editor', 'admin'] },
    { name: 'status', label: 'Status', options: ['active', 'inactive'] },
    {
      name: 'sort',
      label: 'Sort by',
      none: 'Newest first',
      options: [
        ['oldest', 'Oldest first'],
        ['username', 'Username'],
        ['email', 'Email'],
      ],
    },
  ],
  async find({ api, person }, query) {
    const page = await listUsers(api, query);
    return person.role === 'admin' ? withLastSignIns(api, page) : page;
  },
  csv: {
    columns: ['id', 'username', 'email', 'role', 'status', 'name', 'createdAt'],
    find: ({ api }, query) => listUsers(api, query),
  },
  search: ({ api }, q) => listUsers(api, { q, cursor: '' }),
  columns: [
    {
      title: 'User',
      show: ({ id, username }) => html`<bdi>${username ?? id}</bdi>`,
      below: ({ email }) => email !== null && html`<br><span class="hint"><bdi>${email}</bdi></span>`,
    },
    { title: 'Name', show: ({ name }) => html`<bdi>${name}</bdi>` },
    { title: 'Role', show: ({ role }) => role },
    { title: 'Status', show: ({ status }) => status !== undefined && statusTag(status) },
    { title: 'Last sign-in', role: 'admin', show: ({ lastSignIn }) => time(lastSignIn) },
    { title: 'Created', show: ({ createdAt }) => time(createdAt) },
  ],
  empty: html`<p><strong>There are no users yet.</strong> People who sign up, are invited or are imported are listed here.</p>`,
  async read(visit) {
    const isAdmin = visit.person.role === 'admin';
    const id = visit.id('usr');
    const found = findUser(visit.api, id);
    const [{ etag, ...user }, seen, applications, sessions, factors, consents, picture] = await Promise.all([
      found,
      isAdmin ? found.then((it) => withLastSignIns(visit.api, { data: [it] })) : undefined,
      isAdmin ? applicationsOf(visit.api, id) : undefined,
      isAdmin ? sessionsOf(visit) : undefined,
      isAdmin ? attempt(visit.api.get<FactorList>(factorsPath(visit))) : undefined,
      isAdmin ? attempt(visit.api.get<ConsentList>(consentsPath(visit))) : undefined,
      isAdmin ? attempt(visit.api.get<ApiPicture>(picturePath(visit))) : undefined,
    ]);
    const lastSignIn = seen?.data[0]?.lastSignIn;
    const shown = { applications, sessions, factors, consents, picture };
    const value = { ...user, ...omitUndefined({ lastSignIn }), ...shown };
    return { value, etag };
  },
  title: ({ id, username }) => username ?? id,
  heading: ({ id, username, name }) => name ?? username ?? id,
  pageActions: userActions,
  view: userPage,
  fields: (user) => [
    [username, { ...email, required: user.email !== null, hint: 'The person has to confirm a new one.' }],
    [name, phone],
    [firstName, lastName],
    [locale, zoneinfo],
  ],
  update: {
    role: 'admin',
    async send(
      { visit, etag, apiPath },
      { name, first_name, last_name, phone, locale, zoneinfo, ...account },
    ) {
      const profile = omitUndefined({ first_name, last_name, phone, locale, zoneinfo });
      const changed = { ...account, ...(Object.keys(profile).length > 0 && { profile }) };
      if (Object.keys(changed).length > 0) await visit.api.send('PUT', apiPath, changed, etag);
      // The other profile has no names.
      if (name !== undefined) await visit.api.send('PATCH', `/v1/users/${visit.id('usr')}`, { name });
    },
  },
  create: {
    role: 'admin',
    fields: [
      username,
      { ...email, required: true },
      {
        name: 'password',
        label: 'Password',
        type: 'password',
        required: true,
        autocomplete: 'new-password',
        hint: 'At least 8 characters. The person can change the password.',
      },
      { name: 'role', label: 'Role', required: true, options: ROLES, initial: 'user' },
    ],
    async send({ api }, { role, ...account }) {
      // This profile names the fields that are wrong, and has no roles.
      const { id } = await api.send<{ id: string }>('POST', '/v2/users', account);
      if (role === 'user') return { id };
      const given = await attempt(api.send('PUT', `/v2/users/${encodeURIComponent(id)}/role`, { role }));
      return { id, done: given.error === undefined ? 'created' : 'without_role' };
    },
  },
  imported: userImport,
  remove: {
    role: 'admin',
    noun: 'account',
    lost: 'The person can no longer sign in. Their items, applications, API keys, notifications and reports are deleted; their orders are kept without their name.',
    async warning({ visit, value }) {
      anotherPerson(visit);
      const open = openText(value.sessions ?? (await sessionsOf(visit)));
      const owned = [...(await namesOfApplications(visit.api, value.id)).values()];
      return html`${open} ${owned.length > 0 && html`These applications stop working: ${owned.map((it, i) => html`${i > 0 && ', '}<bdi>${it}</bdi>`)}.`}${await grantedTrust(visit.api, value)}`;
    },
  },
  confirmed: {
    deactivate: deactivation,
    'sessions/end-all': endOfAllSessions,
    ...factorQuestions,
    ...impersonationQuestions,
    ...pictureQuestions,
    ...consentQuestions,
    ...accessQuestions,
  },
  routes: addUserRoutes,
});

/** The path of a user's sessions in the API, or of one of them. */
const sessionsPath = (visit: Visit, id = '') =>
  `/api/v1/sessions${id && `/${encodeURIComponent(id)}`}?${new URLSearchParams({ user_id: visit.id('usr') })}`;

const sessionsOf = (visit: Visit) => attempt(visit.api.get<{ data: ApiSession[] }>(sessionsPath(visit)));

async function deactivation({ visit, value }: Target<User>): Promise<ResourceQuestion> {
  anotherPerson(visit);
  const name = value.username ?? value.id;
  const open = openText(value.sessions ?? (await sessionsOf(visit)));
  return {
    title: `Deactivate ${name}?`,
    lost: html`<p>${name} can no longer sign in. ${open} Their applications stop working, and their webhooks pause. An admin can activate the account again.</p>
<p><strong>The secrets, API keys, members and invitations that ${name} gave end for good. Activating the account does not bring them back.</strong></p>
${await grantedTrust(visit.api, value)}`,
    submit: 'Deactivate account',
    act: () => changeStatus(visit, 'inactive'),
  };
}

async function endOfAllSessions({ visit, value, path }: Target<User>): Promise<ResourceQuestion> {
  const open = openText(value.sessions ?? (await sessionsOf(visit)));
  return {
    title: `End all sessions of ${value.username ?? value.id}?`,
    lost: html`<p>${open} The person has to sign in again in every browser and program.</p>`,
    submit: 'End all sessions',
    async act() {
      await visit.api.send('DELETE', sessionsPath(visit));
      return `${path}?done=all_ended`;
    },
  };
}

const pathOf = (visit: Visit) => `/dashboard/users/${visit.id('usr')}`;

async function changeStatus(visit: Visit, status: 'active' | 'inactive'): Promise<string> {
  await visit.api.send('PUT', `/v2/users/${anotherPerson(visit)}/status`, { status });
  return `${pathOf(visit)}?done=${status}`;
}

/** The actions of the buttons of the page. Their errors have a page of their own. */
function addUserRoutes({ post }: DashboardRouter): void {
  post('/users/:id/role', async (visit, fields) => {
    const id = anotherPerson(visit);
    const user = await findUser(visit.api, id);
    const sent = { role: fields.text('role') };
    const { role = user.role ?? '' } = changes(fields, sent, { role: user.role });
    const trust = user.role === 'admin' && (await grantedTrust(visit.api, user));
    const question = roleQuestion(user, role, pathOf(visit), trust);
    if (question !== undefined && !isConfirmed(fields.text('confirmation'), question)) {
      return questionView(visit, question);
    }
    await visit.api.send('PUT', `/v2/users/${id}/role`, { role }, user.etag);
    return `${pathOf(visit)}?done=role`;
  });

  post('/users/:id/activate', (visit) => changeStatus(visit, 'active'));

  post('/users/:id/sessions/end', async (visit, fields) => {
    await visit.api.send('DELETE', sessionsPath(visit, fields.required('id')));
    return `${pathOf(visit)}?done=ended`;
  });
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
