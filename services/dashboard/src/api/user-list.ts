import { isId } from '@gatehouse/kit/ids';
import type { Api } from './api.ts';
import { type ApiPage, beginsWith, filters } from './pages.ts';

/** A user as the lists of the dashboard show them. */
export type ListedUser = {
  id: string;
  username?: string;
  email: string | null;
  role?: string;
  status?: string;
  createdAt?: string;
};

const STATUSES = ['active', 'inactive'];

/**
 * A page of users, searched by an id or the beginning of a username or an email address, and kept to a role or a status. No
 * profile of the interface has both of these: the one that has what is asked for makes the list, and the other completes
 * its rows.
 */
export async function listUsers(
  api: Api,
  { q, kind, cursor }: { q: string; kind: string; cursor: string },
): Promise<ApiPage<ListedUser>> {
  const withStatus = (query: Record<string, string>) =>
    api.get<ApiPage<ListedUser>>('/v2/users', { cursor: '', ...query });
  const withRole = (query: Record<string, string>) =>
    api.get<ApiPage<ListedUser>>('/kb/api/v1/users', { cursor: '', ...query });
  const ofStatus = STATUSES.includes(kind);
  const newestFirst: Record<string, string> =
    q === '' && !ofStatus ? { sortBy: 'createdAt', sortOrder: 'desc' } : {};
  const query = {
    cursor,
    ...findBy(q),
    ...filters({ [ofStatus ? 'status' : 'role']: kind }),
    ...newestFirst,
  };
  const page = await (ofStatus ? withStatus(query) : withRole(query));
  if (page.data.length === 0) return page;
  const ids = { 'filter[id][in]': page.data.map(({ id }) => id).join(',') };
  const others = await (ofStatus ? withRole(ids) : withStatus(ids));
  const rows = new Map(others.data.map((user) => [user.id, user]));
  return { ...page, data: page.data.map((user) => ({ ...rows.get(user.id), ...user })) };
}

function findBy(q: string): Record<string, string> {
  if (isId('usr', q)) return filters({ id: q });
  return beginsWith(q.includes('@') ? 'email' : 'username', q);
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
