import type { ApiClient } from './api-client.ts';
import { CliError } from './errors.ts';

/** An option of `create`, and the field of the API that it sets. */
export type Field = {
  flags: string;
  field: string;
  description: string;
  isRequired?: true;
  default?: unknown;
  parse?: (value: string) => unknown;
};

/** A collection of the API, of which a group of commands lists, shows, creates and deletes what is in it. */
export type Collection = {
  name: string;
  one: string;
  summary: string;
  /** Of an application, with `{application}`. */
  path: string;
  /** The path of one of them, where that is below another. */
  itemPath?: string;
  id: string;
  /** Ids, which are told from names without a request. */
  idPattern?: RegExp;
  /** The field by which people call them, which the list can be filtered by if it may be long. */
  nameField: string;
  isFiltered?: true;
  columns: Readonly<Record<string, string>>;
  create?: readonly Field[];
  verb: 'delete' | 'revoke';
};

const seconds = (value: string) => Number(value);

export const COLLECTIONS: readonly Collection[] = [
  {
    name: 'applications',
    one: 'application',
    summary: 'applications that use the deployment',
    path: '/api/v1/applications',
    id: 'client_id',
    idPattern: /^(?:app_|https?:)/,
    nameField: 'name',
    columns: {
      'CLIENT ID': 'client_id',
      NAME: 'name',
      TYPE: 'type',
      SCOPES: 'scopes',
      'LAST USED': 'last_used_at',
    },
    create: [
      { flags: '--name <name>', field: 'name', description: 'the name that people see', isRequired: true },
      {
        flags: '--type <type>',
        field: 'type',
        description: 'web, spa, native, machine or resource',
        default: 'machine',
      },
      {
        flags: '--scopes <scope...>',
        field: 'scopes',
        description: 'scopes for which it can ask',
        default: ['read:data'],
      },
      { flags: '--redirect-uris <uri...>', field: 'redirect_uris', description: 'where people return to' },
      { flags: '--device-flow', field: 'device_flow', description: 'let people connect it as a device' },
    ],
    verb: 'delete',
  },
  {
    name: 'keys',
    one: 'API key',
    summary: 'API keys of an application',
    path: '/api/v1/applications/{application}/api-keys',
    id: 'id',
    nameField: 'name',
    columns: {
      ID: 'id',
      NAME: 'name',
      SCOPES: 'scopes',
      CREATED: 'created_at',
      EXPIRES: 'expires_at',
      'LAST USED': 'last_used_at',
    },
    create: [
      { flags: '--name <name>', field: 'name', description: 'what it is for', isRequired: true },
      {
        flags: '--scopes <scope...>',
        field: 'scopes',
        description: 'what it may do',
        default: ['read:data'],
      },
      { flags: '--expires-in <seconds>', field: 'expires_in', description: 'when it ends', parse: seconds },
      { flags: '--resource <identifier>', field: 'resource', description: 'the API for which it is' },
    ],
    verb: 'revoke',
  },
  {
    name: 'users',
    one: 'user',
    summary: 'accounts of people',
    path: '/api/v1/users',
    itemPath: '/v2/users',
    id: 'id',
    idPattern: /^usr_/,
    nameField: 'username',
    isFiltered: true,
    columns: { ID: 'id', USERNAME: 'username', EMAIL: 'email' },
    verb: 'delete',
  },
  {
    name: 'resources',
    one: 'resource',
    summary: 'APIs of yours that access tokens are for',
    path: '/api/v1/resources',
    id: 'id',
    idPattern: /^rsr_/,
    nameField: 'name',
    columns: { ID: 'id', NAME: 'name', IDENTIFIER: 'identifier', VERIFIED: 'verified_at' },
    create: [
      {
        flags: '--identifier <url>',
        field: 'identifier',
        description: 'its URL, the aud of its tokens',
        isRequired: true,
      },
      { flags: '--name <name>', field: 'name', description: 'the name that people see', isRequired: true },
      {
        flags: '--scopes <scope...>',
        field: 'scopes',
        description: 'name=sentence, such as "read:notes=Read your notes"',
        isRequired: true,
        parse: (value) => {
          const [name, ...description] = value.split('=');
          return { name, description: description.join('=') };
        },
      },
      {
        flags: '--applications <id...>',
        field: 'applications',
        description: 'the only ones that may ask for its tokens',
      },
    ],
    verb: 'delete',
  },
  {
    name: 'webhooks',
    one: 'webhook',
    summary: 'endpoints of yours that get events',
    path: '/api/v1/webhooks',
    id: 'id',
    idPattern: /^whk_/,
    nameField: 'url',
    columns: { ID: 'id', URL: 'url', EVENTS: 'events', STATUS: 'status', CREATED: 'created_at' },
    create: [
      { flags: '--endpoint <url>', field: 'url', description: 'where events are sent', isRequired: true },
      {
        flags: '--events <type...>',
        field: 'events',
        description: 'types of events, or * for all',
        isRequired: true,
      },
      { flags: '--description <text>', field: 'description', description: 'what it is for' },
      { flags: '--ordered', field: 'ordered', description: 'one event after the other' },
    ],
    verb: 'delete',
  },
];

/** The rows of a list, page after page, up to `limit`; `isComplete` says whether there are no more. */
export async function readRows(
  api: ApiClient,
  path: string,
  { limit, query = {} }: { limit: number; query?: Record<string, string | undefined> },
): Promise<{ rows: Record<string, unknown>[]; isComplete: boolean }> {
  const rows: Record<string, unknown>[] = [];
  let next: string | undefined = path;
  let parameters: Record<string, string | number | undefined> = {
    ...query,
    limit: Math.min(limit, 100),
    cursor: '',
  };
  while (next !== undefined && rows.length < limit) {
    const { body } = await api.request('GET', next, { query: parameters });
    rows.push(...(Array.isArray(body) ? body : body.data));
    next = body.links?.next;
    parameters = {};
  }
  return { rows: rows.slice(0, limit), isComplete: next === undefined && rows.length <= limit };
}

/** The id of what is called by its id or, if it is the only one of that name, by its name. Rejects with a CliError. */
export async function idOf(
  api: ApiClient,
  collection: Collection,
  path: string,
  given: string,
): Promise<string> {
  const { id, one, name, nameField, idPattern, isFiltered } = collection;
  if (idPattern?.test(given)) return given;
  const query = isFiltered ? { [`filter[${nameField}]`]: given } : {};
  const { rows } = await readRows(api, path, { limit: Number.POSITIVE_INFINITY, query });
  if (rows.some((row) => row[id] === given)) return given;
  const found = rows.filter((row) => row[nameField] === given).map((row) => String(row[id]));
  if (found[0] !== undefined && found.length === 1) return found[0];
  const group = name === 'keys' ? 'keys list --application' : `${name} list`;
  throw new CliError(
    found.length === 0
      ? `There is no ${one} ${JSON.stringify(given)}. \`gatehouse ${group}\` shows them.`
      : `${found.length} ${name} are called ${JSON.stringify(given)}. Name one by its id: ${found.join(', ')}.`,
  );
}
