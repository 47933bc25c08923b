import { InvalidArgumentError, Option } from 'commander';
import type { ApiClient } from './api-client.ts';
import { CliError } from './errors.ts';
import type { Row } from './output.ts';

/** A collection of the API. Its group of commands lists, shows, creates and deletes the objects in it. */
export type Collection = {
  name: string;
  one: string;
  summary: string;
  /** The path of the list, with `{application}` in the collections of an application. */
  path: string;
  /** The path of one object, where that is not below `path`. */
  itemPath?: string;
  id: string;
  /** The form of ids, which names do not have. */
  idPattern?: RegExp;
  /** The field with their name for people; `isFiltered` where it is a filter of the list. */
  nameField: string;
  isFiltered?: true;
  columns: readonly string[];
  /** The fields of a new object, each with its option. */
  create?: Readonly<Record<string, Option>>;
  verb: 'delete' | 'revoke';
};

const option = (flags: string, description: string) => new Option(flags, description);
const required = (flags: string, description: string) => option(flags, description).makeOptionMandatory();

/** A count from 1. */
export function toCount(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('It must be a whole number from 1.');
  return number;
}

/** The scope of an API in an option, such as `read:notes=Read your notes`. */
function addScope(value: string, before: object[] = []): object[] {
  const [name, ...description] = value.split('=');
  return [...before, { name, description: description.join('=') }];
}

export const COLLECTIONS: readonly Collection[] = [
  {
    ...{ name: 'applications', one: 'application', summary: 'the applications that use the deployment' },
    ...{ path: '/api/v1/applications', id: 'client_id', idPattern: /^(?:app_|https?:)/, nameField: 'name' },
    columns: ['client_id', 'name', 'type', 'scopes', 'last_used_at'],
    create: {
      name: required('--name <name>', 'the name that people see'),
      type: option('--type <type>', 'web, spa, native, machine or resource').default('machine'),
      scopes: option('--scopes <scope...>', 'the scopes that it may ask for').default(['read:data']),
      redirect_uris: option('--redirect-uris <uri...>', 'where people return after a sign-in'),
      device_flow: option('--device-flow', 'let people connect it as a device'),
    },
    verb: 'delete',
  },
  {
    ...{ name: 'keys', one: 'API key', summary: 'the API keys of an application' },
    ...{ path: '/api/v1/applications/{application}/api-keys', id: 'id', nameField: 'name' },
    columns: ['id', 'name', 'scopes', 'created_at', 'expires_at', 'last_used_at'],
    create: {
      name: required('--name <name>', 'a name that says what it is for'),
      scopes: option('--scopes <scope...>', 'the scopes that it has').default(['read:data']),
      expires_in: option('--expires-in <seconds>', 'the time until it expires').argParser(toCount),
      resource: option('--resource <identifier>', 'the API that accepts it, instead of the API of Gatehouse'),
    },
    verb: 'revoke',
  },
  {
    ...{ name: 'users', one: 'user', summary: 'the accounts of people' },
    ...{ path: '/api/v1/users', itemPath: '/v2/users', id: 'id', idPattern: /^usr_/ },
    ...{ nameField: 'username', isFiltered: true },
    columns: ['id', 'username', 'email'],
    verb: 'delete',
  },
  {
    ...{ name: 'resources', one: 'resource', summary: 'your own APIs, which accept access tokens' },
    ...{ path: '/api/v1/resources', id: 'id', idPattern: /^rsr_/, nameField: 'name' },
    columns: ['id', 'name', 'identifier', 'verified_at'],
    create: {
      identifier: required('--identifier <url>', 'its URL, which its tokens have as aud'),
      name: required('--name <name>', 'the name that people see'),
      scopes: required(
        '--scopes <scope...>',
        'each with a description, such as "read:notes=Read your notes"',
      ).argParser(addScope),
      applications: option('--applications <id...>', 'the only applications that may ask for its tokens'),
    },
    verb: 'delete',
  },
  {
    ...{ name: 'webhooks', one: 'webhook', summary: 'your endpoints, which receive events' },
    ...{ path: '/api/v1/webhooks', id: 'id', idPattern: /^whk_/, nameField: 'url' },
    columns: ['id', 'url', 'events', 'status', 'created_at'],
    create: {
      url: required('--endpoint <url>', 'the URL to which events are sent'),
      events: required('--events <type...>', 'the types of events, or * for all'),
    },
    verb: 'delete',
  },
];

/** The rows of a list, page after page, up to `limit`; `isComplete` says whether there are no more. */
export async function readRows(
  { request }: Pick<ApiClient, 'request'>,
  path: string,
  { limit = Number.POSITIVE_INFINITY, query = {} }: { limit?: number; query?: Record<string, string> } = {},
): Promise<{ rows: Row[]; isComplete: boolean }> {
  const rows: Row[] = [];
  let next: string | undefined = path;
  let parameters: Record<string, string | number> = { ...query, limit: Math.min(limit, 100), cursor: '' };
  while (next !== undefined && rows.length < limit) {
    const { body } = await request('GET', next, { query: parameters });
    rows.push(...(Array.isArray(body) ? body : body.data));
    next = body.links?.next;
    parameters = {};
  }
  return { rows: rows.slice(0, limit), isComplete: next === undefined && rows.length <= limit };
}

/** The id of the object with this id or, if no other has it, this name. Rejects with a CliError. */
export async function idOf(
  api: ApiClient,
  collection: Collection,
  path: string,
  given: string,
): Promise<string> {
  const { id, one, name, nameField, idPattern, isFiltered } = collection;
  if (idPattern?.test(given)) return given;
  const { rows } = await readRows(api, path, isFiltered && { query: { [`filter[${nameField}]`]: given } });
  if (rows.some((row) => row[id] === given)) return given;
  const found = rows.filter((row) => row[nameField] === given).map((row) => String(row[id]));
  if (found[0] !== undefined && found.length === 1) return found[0];
  const group = name === 'keys' ? 'keys list --application' : `${name} list`;
  throw new CliError(
    found.length === 0
      ? `There is no ${one} ${JSON.stringify(given)}. To see your ${name}, run \`gatehouse ${group}\`.`
      : `${found.length} ${name} have the name ${JSON.stringify(given)}. Use one of their ids: ${found.join(', ')}.`,
  );
}
