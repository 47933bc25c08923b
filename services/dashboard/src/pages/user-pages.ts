import { form } from '@gatehouse/web/form';
import { ago } from '@gatehouse/web/formatting';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Outcome } from '../api/attempt.ts';
import type { ListedUser } from '../api/user-list.ts';
import { shownFields } from '../http/changes.ts';
import { selectField } from './fields.ts';
import { type Column, table } from './list.ts';
import { copyable, facts, notAvailable, statusTag, time } from './parts.ts';

export type ApiSession = {
  id: string;
  type: 'browser' | 'login';
  client: string | null;
  address: string | null;
  created_at: string;
  last_used_at: string;
};

export const ROLE_CHOICES = [
  ['user', 'user: manages their own data and applications'],
  ['editor', 'editor: manages all data'],
  ['admin', 'admin: manages all data, users and settings'],
] as const;

export const USER_COLUMNS: Column<ListedUser>[] = [
  {
    title: 'Username',
    show: ({ id, username }) =>
      html`<a href="/dashboard/users/${encodeURIComponent(id)}"><bdi>${username ?? id}</bdi></a>`,
  },
  { title: 'Name', show: ({ name }) => html`<bdi>${name}</bdi>` },
  { title: 'Email', show: ({ email }) => (email === null ? 'none' : html`<bdi>${email}</bdi>`) },
  { title: 'Role', show: ({ role }) => role },
  { title: 'Status', show: ({ status }) => status !== undefined && statusTag(status) },
  { title: 'Created', show: ({ createdAt }) => time(createdAt) },
];

export function userFacts(
  user: ListedUser & { profile?: { first_name: string | null; last_name: string | null } },
): Html {
  const { first_name: first, last_name: last } = user.profile ?? {};
  return html`<section class="panel">${facts([
    ['User ID', copyable('user-id', user.id)],
    ['Email', user.email ?? 'none'],
    ['Name', [first, last].filter(Boolean).join(' ') || '–'],
    ['Role', user.role ?? '–'],
    ['Status', user.status === undefined ? '–' : statusTag(user.status)],
    ['Created', time(user.createdAt)],
  ])}</section>`;
}

/** What an admin decides about somebody. */
export function authority(
  user: ListedUser,
  { path, csrf, isSelf }: { path: string; csrf: string; isSelf: boolean },
): Html {
  const isActive = user.status === 'active';
  if (isSelf) {
    return html`<section class="panel"><h2>Role and status</h2>
<p class="hint">You cannot change your own role or status. Another admin can.</p></section>`;
  }
  return html`<section class="panel"><h2>Role and status</h2>
<p>A change takes effect at once: tokens with the earlier role no longer work, and the person may have to sign in again.</p>
${form(
  { action: `${path}/role`, csrf, hidden: shownFields({ role: user.role }) },
  html`${selectField({ name: 'role', label: 'Role', required: true, value: user.role ?? '', options: ROLE_CHOICES })}<div class="buttons"><button class="secondary">Change the role</button></div>`,
  { class: 'inline-form' },
)}
${
  isActive
    ? html`<p><a class="button danger" href="${path}/deactivate">Deactivate account</a></p>`
    : html`<p>The account is inactive: nobody can sign in to it.</p>${form({ action: `${path}/activate`, csrf }, html`<div class="buttons"><button class="primary">Activate account</button></div>`)}`
}</section>`;
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

/** Where somebody is signed in. */
export function sessionSection(
  outcome: Outcome<{ data: ApiSession[] }>,
  { path, csrf, describe }: { path: string; csrf: string; describe(userAgent: string | null): string },
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
      ? html`<p class="empty">There are no open sessions.</p>`
      : html`${table(columns, data)}<p><a class="button danger" href="${path}/sessions/end-all">End all sessions</a></p>`
  }</section>`;
}
