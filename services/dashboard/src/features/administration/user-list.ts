import { isUserId } from '@gatehouse/core/ids';
import { type Api, queryText } from '../../api/api.ts';
import { attempt } from '../../api/attempt.ts';
import { type ApiPage, beginsWith, filters } from '../../api/pages.ts';
import { rowsWith } from '../../api/rows-with.ts';

/** A user as the lists of the dashboard show them. */
export type ApiUser = {
  id: string;
  username?: string;
  name?: string;
  email: string | null;
  role?: string;
  status?: string;
  createdAt?: string;
  profile?: { first_name: string | null; last_name: string | null; phone?: string };
  /** In the list of an admin, as far back as the audit log goes. */
  lastSignIn?: string;
};

/** The orders of the list, by their names in the URL. */
const SORTS: ReadonlyMap<string, { sortBy: string; sortOrder: string }> = new Map([
  ['oldest', { sortBy: 'createdAt', sortOrder: 'asc' }],
  ['username', { sortBy: 'username', sortOrder: 'asc' }],
  ['email', { sortBy: 'email', sortOrder: 'asc' }],
]);
const NEWEST_FIRST = { sortBy: 'createdAt', sortOrder: 'desc' };

/**
 * A page of users, searched by an id, the beginning of an email address or words in a username or a name, and kept to a role and a
 * status. No profile of the interface has all that is shown: one makes the list, and others complete its rows.
 */
export async function listUsers(
  api: Api,
  { q = '', sort = '', cursor, limit, ...equal }: Readonly<Record<string, string>>,
): Promise<ApiPage<ApiUser>> {
  const order = SORTS.get(sort) ?? NEWEST_FIRST;
  async function pageOf(found: Record<string, string>): Promise<ApiPage<ApiUser>> {
    const query = queryText({ cursor, limit, ...found, ...filters(equal), ...order });
    const { value, isIncomplete } = await api.read<ApiPage<ApiUser>>(`/kb/api/v1/users${query}`);
    return { ...value, isIncomplete };
  }
  // A long name may look like an id.
  const byId = isUserId(q) ? await pageOf(filters({ id: q })) : undefined;
  const page = byId?.data.length === 1 ? byId : await pageOf(findBy(q));
  if (page.data.length === 0) return page;
  const ids = page.data.map(({ id }) => id);
  const others = await Promise.all(
    ['/v2/users', '/users'].map((path) => rowsWith<ApiUser>(api, path, 'id', ids)),
  );
  const rows = new Map(page.data.map((user) => [user.id, user]));
  for (const { id, ...more } of others.flat()) {
    const row = rows.get(id);
    if (row !== undefined) rows.set(id, { ...more, ...row });
  }
  return { ...page, data: [...rows.values()] };
}

/** A page of users with the times of their last sign-ins, which only admins may see; without them if identity is away. */
export async function withLastSignIns(api: Api, page: ApiPage<ApiUser>): Promise<ApiPage<ApiUser>> {
  if (page.data.length === 0) return page;
  const user_id = page.data.map(({ id }) => id).join();
  const { value } = await attempt(
    api.get<{ data: { user_id: string; signed_in_at: string }[] }>('/api/v1/audit/last-sign-ins', {
      user_id,
    }),
  );
  const times = new Map(value?.data.map((it) => [it.user_id, it.signed_in_at]));
  const data = page.data.map((user) => {
    const lastSignIn = times.get(user.id);
    return lastSignIn === undefined ? user : { ...user, lastSignIn };
  });
  return { ...page, data };
}

function findBy(q: string): Record<string, string> {
  if (q === '') return {};
  // The beginning of a domain in another script is not that of its A-labels.
  return /.@\p{ASCII}*$/u.test(q) ? beginsWith('email', q) : { q: q.replace(/^@/, '') };
}

/** One user, with the name, the role, the parts of the profile and the entity tag. */
export async function findUser(api: Api, id: string): Promise<ApiUser & { etag: string | null }> {
  const [{ value: user, etag }, { data }, named] = await Promise.all([
    api.read<ApiUser & { created_at: string }>(`/v2/users/${encodeURIComponent(id)}`),
    api.get<ApiPage<ApiUser>>('/kb/api/v1/users', { cursor: '', ...filters({ id }) }),
    rowsWith<ApiUser>(api, '/users', 'id', [id]),
  ]);
  return { ...named[0], ...data[0], ...user, ...user.profile, createdAt: user.created_at, etag };
}
