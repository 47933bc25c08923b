import { type Html, html } from '@gatehouse/web/html';
import { shownFields } from '../../http/changes.ts';
import type { Question } from '../../resources/confirmed.ts';
import type { ApiUser } from './user-list.ts';

export const ROLES = [
  ['user', 'user: manages their own data and applications'],
  ['editor', 'editor: manages all data'],
  ['admin', 'admin: manages all data, users and settings'],
] as const;

const rankOf = (role: string | undefined) => ROLES.findIndex(([name]) => name === role);

/**
 * The question before somebody gets a lower role or becomes an admin; undefined for another change.
 *
 * @param trust what ends of the trust that an admin granted
 */
export function roleQuestion(
  user: ApiUser,
  role: string,
  path: string,
  trust: Html | false,
): Omit<Question, 'act'> | undefined {
  const isLower = rankOf(role) < rankOf(user.role);
  if (!isLower && (role !== 'admin' || user.role === 'admin')) return undefined;
  const name = html`<bdi>${user.username ?? user.id}</bdi>`;
  return {
    ...{ section: 'users', back: path, hidden: { role, ...shownFields({ role: user.role }) } },
    trail: [
      { href: '/dashboard/users', title: 'Users' },
      { href: path, title: user.username ?? user.id },
    ],
    title: `Give ${user.username ?? user.id} the role ${role}?`,
    lost: isLower
      ? html`<p>${name} and their applications do no more than the new role allows, from now on.</p>
<p>${user.role === 'admin' && html`Set-up links and invitations that ${name} created end. `}Offers of their applications end, and so does the trust in them. Giving the role back does not bring these back.</p>${trust}`
      : html`<p>${name} can then manage all data, users and settings, and make other people admins.</p>`,
    submit: 'Change the role',
  };
}
