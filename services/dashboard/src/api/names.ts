import type { Api } from './api.ts';
import { attempt } from './attempt.ts';
import type { ApiPage } from './pages.ts';

/** Names by ids; an id of which no name is known, such as that of a deleted account, is missing. */
export type Names = ReadonlyMap<string, string> & { isUnlinked?: boolean };

/** Names without links, for people who may not open the pages of users. */
export const withoutLinks = (names: Names = new Map()): Names =>
  Object.assign(new Map(names), { isUnlinked: true });

/** The most values of one filter. */
export const MAX_VALUES = 50;

/** The parts of Gatehouse itself that sign people in, by their client ids. */
export const OUR_CLIENTS: Readonly<Record<string, string>> = {
  dashboard: 'the dashboard',
  'gatehouse-login': 'login by the API',
  'gatehouse-account': 'the account pages',
};

/** The usernames of people. */
export function namesOfUsers(api: Api, ids: readonly (string | null)[]): Promise<Names> {
  return namesOf<{ id: string; username: string }>(api, '/kb/api/v1/users', ids, ({ username }) => username);
}

/** The names of products. */
export function namesOfProducts(api: Api, ids: readonly (string | null)[]): Promise<Names> {
  return namesOf<{ id: string; name: string }>(api, '/v2/products', ids, ({ name }) => name);
}

/** The names of the applications that the person sees, or of those of an owner, as far as they are on the first page of them. */
export async function namesOfApplications(api: Api, owner?: string): Promise<Names> {
  const { value } = await attempt(
    api.get<ApiPage<{ client_id: string; name: string }>>('/api/v1/applications', {
      ...{ limit: 100, owner },
    }),
  );
  return new Map(value?.data.map(({ client_id: id, name }) => [id, name]));
}

/** A page is worth showing with ids where the names cannot be had. */
async function namesOf<T extends { id: string }>(
  api: Api,
  path: string,
  ids: readonly (string | null)[],
  name: (row: T) => string,
): Promise<Names> {
  const wanted = [...new Set(ids)].filter((id) => id !== null).slice(0, MAX_VALUES);
  if (wanted.length === 0) return new Map();
  const query = { cursor: '', limit: MAX_VALUES, 'filter[id][in]': wanted.join(',') };
  const { value } = await attempt(api.get<ApiPage<T>>(path, query));
  return new Map(value?.data.map((row) => [row.id, name(row)]));
}
