import { form } from '@gatehouse/web/form';
import { ago } from '@gatehouse/web/formatting';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { describeProgram } from '@gatehouse/web/user-agent';
import type { Outcome } from '../../api/attempt.ts';
import { shownFields } from '../../http/changes.ts';
import { formField } from '../../pages/fields.ts';
import { copyable, facts, notAvailable, statusTag, time } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import type { ResourceView } from '../../resources/resource.ts';
import { hasRole } from '../../sessions/session.ts';
import { applicationSection, type UserApplications } from './user-applications.ts';
import { type ConsentList, consentSection } from './user-consents.ts';
import { type FactorList, factorSection, newLink, type SetUpLink } from './user-factors.ts';
import { type ImpersonationToken, newToken } from './user-impersonation.ts';
import type { ApiUser } from './user-list.ts';
import { type ApiPicture, pictureSection } from './user-picture.ts';
import { accessSection } from './user-revocation.ts';
import { ROLES } from './user-role.ts';

export type ApiSession = {
  id: string;
  type: 'browser' | 'login';
  client: string | null;
  address: string | null;
  created_at: string;
  last_used_at: string;
};

/** A user, with the sessions, the factors and the applications with access for admins. */
export type User = ApiUser & {
  applications?: Outcome<UserApplications> | undefined;
  sessions?: Outcome<{ data: ApiSession[] }> | undefined;
  factors?: Outcome<FactorList> | undefined;
  picture?: Outcome<ApiPicture> | undefined;
  consents?: Outcome<ConsentList> | undefined;
};

/** The facts about a user and, for admins, the forms that change the account. */
export async function userPage({
  value: user,
  visit,
  path,
  form,
  deletion,
}: ResourceView<User>): Promise<Html> {
  const { csrf, person } = visit;
  const isSelf = user.id === person.id;
  const created = user.factors === undefined ? [] : await visit.takeFlashes();
  return html`${created.map(createdView)}<section class="panel">${facts([
    ['User ID', copyable('user-id', user.id)],
    ['Username', html`<bdi>${user.username ?? '–'}</bdi>`],
    ['Email', emailText(user)],
    ['Role', user.role ?? '–'],
    ['Status', user.status === undefined ? '–' : statusTag(user.status)],
    ['Created', time(user.createdAt)],
    ['Last sign-in', hasRole(person, 'admin') && time(user.lastSignIn, 'none in the audit log')],
  ])}</section>
${user.sessions !== undefined && sessionSection(user.sessions, { path, csrf })}
${
  hasRole(person, 'admin') &&
  html`${linksTo(user.id)}
<section><h2>Details</h2>${isSelf ? html`<p>Change your own on the page <a href="/account">Profile</a> of your account.</p>` : form}</section>
${authority(user, { path, csrf, isSelf })}`
}
${user.picture !== undefined && pictureSection(user.picture, { path, isSelf })}
${user.applications !== undefined && applicationSection(user.applications, { id: user.id, path })}
${user.factors !== undefined && factorSection(user.factors, { path, isSelf, user })}
${user.consents !== undefined && consentSection(user.consents, path)}
${hasRole(person, 'admin') && accessSection(path, isSelf)}
${!isSelf && deletion}`;
}

/** A link or a token that has just been created. */
function createdView(text: string): Html {
  const created = JSON.parse(text) as SetUpLink | ImpersonationToken;
  return 'access_token' in created ? newToken(created) : newLink(created);
}

/** The address, and whether the person has confirmed it. */
function emailText({ email, factors }: User): Content {
  const isVerified = factors?.value?.email_verified;
  if (email === null) return 'none';
  return html`<bdi>${email}</bdi> ${isVerified !== undefined && statusTag(isVerified ? 'confirmed' : 'not confirmed')}`;
}

/** Links to other pages about a user. */
function linksTo(id: string): Html {
  const pages = [
    ['audit', 'subject', 'Audit log of this account'],
    ['audit', 'actor', 'Actions of this user'],
    ['orders', 'q', 'Orders of this user'],
    ['notifications/new', 'user', 'Send a notification'],
  ] as const;
  return html`<p>${pages.map(
    ([page, name, title], i) =>
      html`${i > 0 && ' · '}<a href="/dashboard/${page}?${name}=${id}">${title}</a>`,
  )}</p>`;
}

/** The form for the role of a user. */
function authority(
  user: User,
  { path, csrf, isSelf }: { path: string; csrf: string; isSelf: boolean },
): Html {
  if (isSelf) {
    return html`<section class="panel"><h2>Role and status</h2>
<p class="hint">You cannot change your own role or status. Another admin can.</p></section>`;
  }
  return html`<section class="panel"><h2>Role</h2>
<p>A change takes effect at once: tokens with the earlier role no longer work, and the person may have to sign in again.</p>
${form(
  { action: `${path}/role`, csrf, hidden: shownFields({ role: user.role }) },
  html`${formField({ name: 'role', label: 'Role', required: true, options: ROLES }, user.role ?? '')}<div class="buttons"><button class="secondary">Change the role</button></div>`,
  { class: 'inline-form' },
)}</section>`;
}

/** How many sessions would end, in a sentence. */
export function openText({ value }: Outcome<{ data: readonly ApiSession[] }>): Content {
  const open = value?.data ?? [];
  const last = open
    .map(({ last_used_at: at }) => at)
    .sort()
    .at(-1);
  if (last === undefined) return 'There are no open sessions.';
  return html`${open.length === 1 ? '1 open session ends' : html`${open.length} open sessions end`}. The last use was ${ago(new Date(last))}.`;
}

const describe = (userAgent: string | null) => describeProgram(userAgent ?? undefined);

/** Where somebody is signed in. */
function sessionSection(
  outcome: Outcome<{ data: ApiSession[] }>,
  { path, csrf }: { path: string; csrf: string },
): Html {
  if (outcome.error !== undefined) {
    return html`<section><h2>Sessions</h2>${notAvailable('Sessions', outcome.error, { again: path })}</section>`;
  }
  const { data } = outcome.value;
  const columns: Column<ApiSession>[] = [
    {
      title: 'Browser or program',
      show: ({ client, type }) =>
        html`${describe(client)}${type === 'login' && html` <span class="tag">API</span>`}`,
    },
    { title: 'Address', show: ({ address }) => address ?? 'unknown' },
    { title: 'Signed in', show: ({ created_at: at }) => time(at) },
    { title: 'Last seen', show: ({ last_used_at: at }) => time(at) },
    {
      title: 'End',
      show: ({ id, client }) =>
        form(
          { action: `${path}/sessions/end`, csrf, hidden: { id } },
          html`<button class="secondary" aria-label="${`End the session of ${describe(client)}`}">End</button>`,
        ),
    },
  ];
  return html`<section><h2>Sessions</h2>${
    data.length === 0
      ? html`<p class="hint">There are no open sessions.</p>`
      : html`${table(columns, data)}<p><a class="button danger" href="${path}/sessions/end-all">End all sessions</a></p>`
  }</section>`;
}
