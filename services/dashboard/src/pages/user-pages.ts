import { form } from '@gatehouse/ui/form';
import { type Html, html } from '@gatehouse/ui/html';
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
  ['user', 'user: their own data, and applications of their own'],
  ['editor', 'editor: reads and changes all data'],
  ['admin', 'admin: everything, people included'],
] as const;

export const USER_COLUMNS: Column<ListedUser>[] = [
  {
    title: 'Username',
    show: ({ id, username }) =>
      html`<a href="/dashboard/users/${encodeURIComponent(id)}"><bdi>${username ?? id}</bdi></a>`,
  },
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
<p class="hint">You cannot change your own. Another admin can.</p></section>`;
  }
  return html`<section class="panel"><h2>Role and status</h2>
<p>A change takes effect at once: tokens with the earlier role no longer work, and the person may have to sign in again.</p>
${form(
  { action: `${path}/role`, csrf, hidden: shownFields({ role: user.role }) },
  html`${selectField({ name: 'role', label: 'Role', required: true, value: user.role ?? '', options: ROLE_CHOICES })}<div class="buttons"><button class="secondary">Change the role</button></div>`,
  { class: 'inline-form' },
)}
${form(
  { action: `${path}/status`, csrf, hidden: { status: isActive ? 'inactive' : 'active' } },
  isActive
    ? html`<div class="buttons"><button class="danger">Deactivate</button></div><p class="hint">Ends all sessions and tokens, those of the person’s applications included. Nothing is deleted.</p>`
    : html`<div class="buttons"><button class="primary">Activate</button></div><p class="hint">The person can sign in again.</p>`,
)}</section>`;
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
      title: 'Where',
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
          html`<button class="danger" aria-label="${`End the session of ${describe(client)}`}">End</button>`,
        ),
    },
  ];
  return html`<section><h2>Sessions</h2>${
    data.length === 0
      ? html`<p class="empty">Nobody is signed in to this account.</p>`
      : html`${table(columns, data)}${form({ action: `${path}/sessions/end-all`, csrf }, html`<div class="buttons"><button class="danger">End all sessions</button></div>`)}`
  }</section>`;
}
