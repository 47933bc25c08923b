import { isId } from '@gatehouse/core/ids';
import type { Api } from './api.ts';
import { type ApiPage, beginsWith, filters } from './pages.ts';

/** A user as the lists of the dashboard show them. */
export type ListedUser = {
  id: string;
  username?: string;
  name?: string;
  email: string | null;
  role?: string;
  status?: string;
  createdAt?: string;
};

/** The orders of the list, by their names in the URL. */
const SORTS: ReadonlyMap<string, { sortBy: string; sortOrder: string }> = new Map([
  ['oldest', { sortBy: 'createdAt', sortOrder: 'asc' }],
  ['username', { sortBy: 'username', sortOrder: 'asc' }],
  ['email', { sortBy: 'email', sortOrder: 'asc' }],
]);
const NEWEST_FIRST = { sortBy: 'createdAt', sortOrder: 'desc' };

/**
 * A page of users, searched by an id, the beginning of an email address or a part of a username or a name, and kept to a role and a
 * status. No profile of the interface has all that is shown: one makes the list, and others complete its rows.
 */
export async function listUsers(
  api: Api,
  search: { q: string; role: string; status: string; sort: string; cursor: string },
): Promise<ApiPage<ListedUser>> {
  const { q, role, status, sort, cursor } = search;
  const order = SORTS.get(sort) ?? NEWEST_FIRST;
  const query = { cursor, ...findBy(q), ...filters({ role, status }), ...order };
  const page = await api.get<ApiPage<ListedUser>>('/kb/api/v1/users', query);
  if (page.data.length === 0) return page;
  const ids = { cursor: '', 'filter[id][in]': page.data.map(({ id }) => id).join(',') };
  const others = await Promise.all(
    ['/v2/users', '/users'].map((path) => api.get<ApiPage<ListedUser>>(path, ids)),
  );
  const rows = new Map(page.data.map((user) => [user.id, user]));
  for (const { id, ...more } of others.flatMap(({ data }) => data)) {
    const row = rows.get(id);
    if (row !== undefined) rows.set(id, { ...more, ...row });
  }
  return { ...page, data: [...rows.values()] };
}

function findBy(q: string): Record<string, string> {
  if (q === '') return {};
  if (isId('usr', q)) return filters({ id: q });
  return q.includes('@') && !q.startsWith('@') ? beginsWith('email', q) : { q: q.replace(/^@/, '') };
}

/** One user, with the role and the entity tag. */
export async function findUser(
  api: Api,
  id: string,
): Promise<ListedUser & { profile?: UserProfile; etag: string | null }> {
  const [{ value: user, etag }, { data }] = await Promise.all([
    api.read<ListedUser & { created_at: string; profile: UserProfile }>(
      `/v2/users/${encodeURIComponent(id)}`,
    ),
    api.get<ApiPage<ListedUser>>('/kb/api/v1/users', { cursor: '', ...filters({ id }) }),
  ]);
  return { ...data[0], ...user, createdAt: user.created_at, etag };
}
type UserProfile = { first_name: string | null; last_name: string | null };
