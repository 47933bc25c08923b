import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, ApiError, type ApiRequest, type ApiResponse } from '../api-client.ts';
import { readRows } from '../collections.ts';
import { CliError } from '../errors.ts';
import { type Kind, pathOf, type Values } from './kind.ts';

const CONCURRENCY = 8;
const MAX_TRIES = 10;
/** The longest pause after too many requests. */
const MAX_PAUSE_SECONDS = 60;

export type Deployment = ReturnType<typeof createDeployment>;

/** The objects of a deployment, each list read once. Every request has the `headers`. `note` tells the person why a command waits. */
export function createDeployment(
  client: ApiClient,
  { note, headers = {} }: { note(text: string): void; headers?: Readonly<Record<string, string>> },
) {
  const lists = new Map<string, Promise<Values[]>>();
  const users = new Map<string, Promise<string | undefined>>();
  let pause: Promise<void> | undefined;

  /** Sends a request, and again after the pause for too many requests (RFC 6585 §4). Rejects with a CliError if that is more than a minute. */
  async function request(method: string, path: string, options: ApiRequest = {}): Promise<ApiResponse> {
    for (let tries = 1; ; tries++) {
      await pause;
      try {
        return await client.request(method, path, {
          ...options,
          headers: { ...headers, ...options.headers },
        });
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 429) throw error;
        const seconds = Number(error.headers.get('retry-after') ?? 1);
        if (tries === MAX_TRIES || !(seconds <= MAX_PAUSE_SECONDS))
          throw new CliError(
            `${error.message} Run the command again later: an apply continues where it ended.`,
          );
        if (pause === undefined) note(`Too many requests: waiting ${seconds} s…`);
        pause ??= sleep(seconds * 1000).then(() => {
          pause = undefined;
        });
      }
    }
  }

  const once = <T>(map: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> => {
    const found = map.get(key) ?? read();
    map.set(key, found);
    return found;
  };

  const isManaged = ({ unmanaged, name, shown }: Kind, view: Values) =>
    view[shown[name] ?? name] != null &&
    Object.entries(unmanaged).every(([member, value]) => view[member] !== value);

  const self = {
    headers,
    request,
    note,
    /** The objects of a kind, those of a parent if it has one, the oldest first. */
    async list(kind: Kind, parent?: string): Promise<Values[]> {
      const path = pathOf(kind, parent);
      const all = await once(lists, path, async () => (await readRows({ request }, path)).rows);
      return all
        .filter((it) => isManaged(kind, it))
        .sort((a, b) => (String(a.created_at) < String(b.created_at) ? -1 : 1));
    },
    /** The objects of a kind; undefined if the person may not read them. */
    visible: (kind: Kind, parent?: string): Promise<Values[] | undefined> =>
      ifAllowed(self.list(kind, parent)),
    async me(): Promise<string> {
      const { body } = await request('GET', '/api/v1/auth/permissions');
      const username = (await self.usernameOf(body.user_id)) ?? body.user_id;
      // Only admins and editors look others up.
      users.set(`username ${username}`, Promise.resolve(body.user_id));
      return username;
    },
    usernameOf: (id: string) =>
      once(users, `id ${id}`, async () => {
        const found = await ifAllowed(request('GET', `/v1/users/${encodeURIComponent(id)}`));
        return found?.body.username as string | undefined;
      }),
    /** The id of the user with this username or address. */
    userWith: (field: 'username' | 'email', value: string) =>
      once(users, `${field} ${value}`, async () => {
        const query = { [`filter[${field}]`]: value, limit: 1 };
        return (await ifAllowed(request('GET', '/v2/users', { query })))?.body.data[0]?.id as
          | string
          | undefined;
      }),
  };
  return self;
}

/** Resolves to undefined if an object does not exist, or the person may not read it. */
async function ifAllowed<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof ApiError && [403, 404].includes(error.status)) return undefined;
    throw error;
  }
}

/** Maps a list with a few calls at a time. The results keep its order. */
export async function mapConcurrently<T, R>(list: readonly T[], map: (it: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const entries = list.entries();
  const work = async () => {
    for (const [index, it] of entries) results[index] = await map(it);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return results;
}
