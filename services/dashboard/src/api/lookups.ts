import { isId, isUserId } from '@gatehouse/core/ids';
import { emailKey, foldedKey } from '@gatehouse/domain/folded-key';
import type { Api } from './api.ts';
import { ApiError } from './api-error.ts';
import { type ApiApplication, type ApplicationPage, applicationPath } from './application-types.ts';
import { MAX_VALUES, OUR_CLIENTS } from './names.ts';
import { type ApiPage, cursorOf, filters } from './pages.ts';

/** How many pages of applications are looked through. */
const MAX_PAGES = 10;

/** The hint of a field that userIdOf() reads. */
export const USER_HINT = 'Username, email or ID';

/**
 * The id of the user that somebody named by an id, a username or an email address; empty for none. An id is not checked, since
 * that of a deleted user is one, too. Throws an ApiError that says so when there is no such user.
 */
export async function userIdOf(api: Api, named: string): Promise<string> {
  if (named === '' || isId('usr', named)) return named;
  const field = named.includes('@') ? 'email' : 'username';
  const usersWith = (field: string) =>
    api.get<ApiPage<{ id: string; username: string; email: string | null }>>('/kb/api/v1/users', {
      ...{ cursor: '', limit: 1 },
      ...filters({ [field]: named }),
    });
  // An id that an imported account brought along: it comes first, since anybody can choose it as a username.
  if (isUserId(named) && (await usersWith('id')).data.length > 0) return named;
  const { data } = await usersWith(field);
  // A filter may also be a pattern.
  const found = data.find((user) => emailKey(user[field] ?? '') === emailKey(named));
  if (found !== undefined) return found.id;
  if (isUserId(named)) return named;
  throw new ApiError(
    400,
    `There is no user with the ${field === 'email' ? 'email address' : 'username'} “${named}”.`,
  );
}

/** The first pages of the applications that the person sees; with `q`, of those with its words in their names. */
async function* applicationPages(api: Api, q?: string) {
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = { q, limit: 100, cursor };
    const { data, links } = await api.get<ApplicationPage>('/api/v1/applications', query);
    cursor = cursorOf(links?.next);
    yield { data, isLast: cursor === undefined };
    if (cursor === undefined) return;
  }
}

/** The applications to choose from: the client ids and names of those that the person sees. */
export async function applicationOptions(api: Api): Promise<(readonly [clientId: string, name: string])[]> {
  const options = [];
  for await (const { data } of applicationPages(api)) {
    options.push(...data.map(({ client_id: id, name }) => [id, name] as const));
  }
  return options;
}

/**
 * The client ids of the applications that somebody named by a client id or a name, which several may have; none for an empty
 * text. Throws an ApiError that says so when there is no such application.
 */
export async function clientIdsOf(api: Api, named: string): Promise<string[]> {
  if (named === '') return [];
  if (isId('app', named) || Object.hasOwn(OUR_CLIENTS, named)) return [named];
  const found: string[] = [];
  let isComplete = false;
  for await (const { data, isLast } of applicationPages(api, named)) {
    const same = data.filter(({ name }) => foldedKey(name) === foldedKey(named));
    found.push(...same.map(({ client_id: id }) => id));
    isComplete = isLast;
    if (found.length >= MAX_VALUES) break;
  }
  if (found.length > 0) return found.slice(0, MAX_VALUES);
  // The applications that a deployment begins with have ids of its choice.
  return api.get<ApiApplication>(applicationPath(named)).then(
    ({ client_id: id }) => [id],
    (error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      const why = isComplete
        ? `There is no application with the name “${named}”.`
        : `Too many applications have “${named}” in their name. Enter a client ID.`;
      throw new ApiError(400, why, { details: [{ field: 'application', message: why }] });
    },
  );
}
