import { type OpenApiDocument, resolve, type Schema } from './openapi/document.ts';

/**
 * A kind of objects in a configuration file. Its fields are its secrets, and the fields that both requests and responses of the API have.
 */
type Kind = {
  /** Where its objects are listed and created; children are below their parent. */
  path: string;
  /** The member of responses that is in the path of an object. */
  id: string;
  /** The field by which objects are known. */
  name: string;
  /** The field within which their names are unique. */
  within?: string;
  /** Further kinds whose objects decide what the API accepts, beside those to which fields refer. */
  restsOn?: readonly string[];
  /** The fields that have another name in responses, with that name. */
  shown?: Readonly<Record<string, string>>;
  /** The fields that name other objects: an application by its name, and a person by the username. */
  references?: Readonly<Record<string, string>>;
  /** The fields that responses do not show. A file has references to their values. */
  secrets?: readonly string[];
  /** The members that mark objects which a configuration does not manage. */
  unmanaged?: Readonly<Record<string, unknown>>;
  /** Creating an object with a name that exists changes it. */
  upserts?: boolean;
  /** The field with a person's address. The object has served its purpose once this person has an account. */
  fulfilledBy?: string;
  children?: Readonly<Record<string, Kind>>;
};

/** In the order in which they are created. Children come after all of them. */
export const KINDS: Readonly<Record<string, Kind>> = {
  applications: {
    ...{ path: '/api/v1/applications', id: 'client_id', name: 'name', within: 'owner' },
    references: { owner: 'users' },
    unmanaged: { registered: true },
    children: {
      federated_credentials: {
        ...{ path: '/api/v1/applications/{client_id}/federated-credentials', id: 'id', name: 'name' },
        references: { issuer: 'trusted_issuers' },
      },
      members: {
        ...{ path: '/api/v1/applications/{client_id}/members', id: 'user_id', name: 'user' },
        ...{ shown: { user: 'username' }, upserts: true },
      },
    },
  },
  trusted_issuers: {
    ...{ path: '/api/v1/trusted-issuers', id: 'id', name: 'issuer' },
    references: { applications: 'applications' },
  },
  resources: {
    ...{ path: '/api/v1/resources', id: 'id', name: 'identifier' },
    references: { owner: 'users', applications: 'applications' },
  },
  identity_providers: {
    ...{ path: '/api/v1/identity-providers', id: 'id', name: 'id' },
    secrets: ['client_secret', 'private_key'],
    unmanaged: { source: 'setting' },
  },
  webhooks: { path: '/api/v1/webhooks', id: 'id', name: 'url', restsOn: ['applications'] },
  invitations: {
    ...{ path: '/api/v1/invitations', id: 'id', name: 'email', upserts: true, fulfilledBy: 'email' },
    references: { 'application.client_id': 'applications' },
  },
};

const REFERENCE = '^\\$\\{(?:env:[A-Za-z_][A-Za-z0-9_]*|file:[^}]+)\\}$';

/**
 * The JSON Schema of configuration files, for editors and for the command line. `x-gatehouse` of a list says how its objects are read and
 * written, and `x-gatehouse-fixed` marks the fields that cannot be changed later.
 */
export function configurationSchema(document: OpenApiDocument, url: string): object {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: url,
    title: 'Gatehouse configuration',
    type: 'object',
    properties: { $schema: { type: 'string' }, ...listsOf(document, KINDS) },
    additionalProperties: false,
  };
}

function listsOf(document: OpenApiDocument, kinds: Readonly<Record<string, Kind>>): object {
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, it]) => {
      const { children = {}, ...about } = it;
      const { properties, required, updates } = fieldsOf(document, it);
      const items = {
        ...{ type: 'object', properties: { ...properties, ...listsOf(document, children) } },
        ...{ required, additionalProperties: false },
      };
      return [kind, { type: 'array', items, 'x-gatehouse': { ...about, updates } }];
    }),
  );
}

function fieldsOf(document: OpenApiDocument, { path, id, name, ...kind }: Kind) {
  const { post } = document.paths[path] ?? {};
  const { patch } = document.paths[`${path}/{${patchParameter(document, path)}}`] ?? {};
  if (post === undefined) throw new Error(`${path} is not in the document`);
  const body = bodyOf(document, post.requestBody?.content);
  const changes = bodyOf(document, patch?.requestBody?.content);
  const response = resolve(document, post.responses['201'] ?? { description: '' });
  const shown = bodyOf(document, response.content)?.properties ?? {};
  const { secrets = [], shown: renamed = {} } = kind;
  const fields = Object.entries(body?.properties ?? {}).flatMap(([field, created]) => {
    if (secrets.includes(field)) {
      const description = `By reference: \${env:NAME} or \${file:PATH}. ${created.description ?? ''}`.trim();
      return [[field, { type: 'string', pattern: REFERENCE, description }]];
    }
    if (!Object.hasOwn(shown, renamed[field] ?? field)) return [];
    const changed = changes?.properties?.[field];
    const isFixed = patch !== undefined && changed === undefined;
    return [[field, { ...(changed ?? created), ...(isFixed ? { 'x-gatehouse-fixed': true } : {}) }]];
  });
  const properties = { ...(id === name ? {} : { id: { type: 'string' } }), ...Object.fromEntries(fields) };
  return {
    properties,
    required: [...new Set([name, ...(body?.required ?? [])])],
    updates: patch !== undefined,
  };
}

/** The name of the parameter that follows a path. */
function patchParameter(document: OpenApiDocument, path: string): string {
  const below = Object.keys(document.paths).find(
    (it) => it.startsWith(`${path}/{`) && !it.slice(path.length + 1).includes('/'),
  );
  return below?.slice(path.length + 2, -1) ?? '';
}

/** The schema of a JSON body, without references to the document. */
function bodyOf(document: OpenApiDocument, content: Record<string, { schema?: Schema }> | undefined) {
  const schema = content?.['application/json']?.schema;
  return schema && (inlined(document, schema) as Schema);
}

function inlined(document: OpenApiDocument, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((it) => inlined(document, it));
  if (typeof value !== 'object' || value === null) return value;
  const found = resolve(document, value);
  return Object.fromEntries(Object.entries(found).map(([name, it]) => [name, inlined(document, it)]));
}
