import { plainBody, upperCaseCodeBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { openApiDocument } from '@gatehouse/api/openapi/document';
import type { OpenApiOptions, Operation, Shape } from '@gatehouse/api/openapi/operation';
import { securityOf } from '@gatehouse/api/openapi/security';
import { ServiceError } from '@gatehouse/core/errors';
import { documentProblems } from '@gatehouse/testing/openapi-check';
import t from 'tap';
import { Type } from 'typebox';

const OPTIONS: OpenApiOptions = {
  title: 'Things',
  version: '1.2.3',
  description: 'All about things.',
  path: '/openapi/things.json',
  origin: 'https://api.example.org',
};

const Id = Type.String({ description: 'Opaque.' });
const Email = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'email' });
const ann = { id: 'th_1', email: null };
const thing: Shape = { name: 'Thing', schema: Type.Object({ id: Id, email: Email }), example: ann };
const named: Shape = {
  name: 'NamedThing',
  schema: Type.Object({ id: Id, name: Type.String() }),
  example: { id: 'th_1', name: 'one' },
};
const listOf = ({ name, schema, example }: Shape): Shape => ({
  name: `${name}List`,
  schema: Type.Array(schema),
  example: [example],
});
const pageOf = (row: Shape): Shape => ({
  name: `${row.name}Page`,
  schema: Type.Object({ data: Type.Array(row.schema), total: Type.Integer() }),
  parts: [row],
});

const READ: Operation = {
  operationId: 'readThing',
  summary: 'Read a thing',
  tag: 'things',
  scopes: ['read:users', 'read:all'],
  conditional: 'read',
  responses: { 200: { description: 'The thing.', shapes: [thing], headers: { ETag: 'always' } } },
  errors: { body: upperCaseCodeBody, kinds: ['not_found'] },
};
const LIST: Operation = {
  operationId: 'listThings',
  summary: 'List things',
  tag: 'things',
  scopes: ['read:users'],
  query: [
    {
      profile: 'X',
      schema: Type.Object({
        limit: Type.Optional(Type.Integer({ minimum: 1, default: 20, description: 'How many.' })),
        offset: Type.Optional(Type.Integer({ default: 0, description: 'After how many.' })),
        kind: Type.String({ deprecated: true, description: 'Its name.' }),
        old: Type.Optional(Type.String({ deprecated: true })),
        'filter[id]': Type.Optional(Type.String({ description: 'By id.' })),
      }),
    },
    {
      profile: 'Y',
      schema: Type.Object({
        limit: Type.Optional(Type.Integer({ minimum: 1, default: 20, description: 'How many.' })),
        page: Type.Optional(Type.Integer({ description: 'Which page.' })),
        kind: Type.Integer({ description: 'Its number.' }),
        'filter[id]': Type.Optional(Type.String({ description: 'By id.' })),
      }),
    },
    {
      profile: 'Z',
      schema: Type.Object({
        limit: Type.Optional(Type.Integer({ minimum: 1, default: 20, description: 'How many.' })),
        kind: Type.Integer({ description: 'Its number.' }),
        'filter[id]': Type.Optional(Type.String({ description: 'By id.' })),
        page: Type.Optional(Type.Integer({ description: 'Which page.' })),
      }),
    },
  ],
  responses: {
    200: {
      description: 'A page.',
      shapes: [listOf(thing), pageOf(thing), pageOf(named)],
      headers: { Link: 'sometimes' },
    },
  },
  errors: { body: v2Body },
};
const CREATE: Operation = {
  operationId: 'createThing',
  summary: 'Create a thing',
  description: 'With an address, or a name.',
  tag: 'things',
  scopes: [],
  idempotent: true,
  body: [thing, named],
  responses: { 201: { description: 'Created.', shapes: [thing, named], headers: { Location: 'always' } } },
  errors: { body: plainBody },
};
const REMOVE: Operation = {
  operationId: 'removeThing',
  summary: 'Remove a thing',
  tag: 'things',
  scopes: ['write:users'],
  conditional: 'write',
  responses: { 204: { description: 'Gone.' } },
  errors: { body: v2Body, kinds: ['not_found'] },
};
const GUIDE: Operation = {
  operationId: 'readGuide',
  summary: 'Read the guide',
  tag: 'guides',
  responses: {
    200: { description: 'The guide.', mediaType: 'text/markdown', headers: { 'Cache-Control': 'always' } },
  },
  errors: { body: v2Body },
};

const PATH = '/v1/things/:id';
const ROUTES = [
  { url: PATH, method: 'GET', operation: READ },
  { url: '/v1/things', method: 'GET', operation: LIST },
  { url: '/v1/things', method: 'POST', operation: CREATE },
  { url: PATH, method: 'DELETE', operation: REMOVE },
  { url: '/guides/things', method: 'GET', operation: GUIDE },
];

/** The document as a client receives it. */
const documentOf = (routes = ROUTES, options = OPTIONS) =>
  JSON.parse(JSON.stringify(openApiDocument(options, routes)));

t.test('the document is valid OpenAPI 3.1, and its examples are valid', async (t) => {
  t.strictSame(await documentProblems(documentOf()), []);
  const { openapi, info, servers, tags, paths } = documentOf();
  t.match(openapi, /^3\.1\./);
  t.strictSame(info, { title: 'Things', version: '1.2.3', description: 'All about things.' });
  t.strictSame(servers, [{ url: 'https://api.example.org' }]);
  t.strictSame(tags, [{ name: 'things' }, { name: 'guides' }]);
  const methods = Object.entries(paths).map(([path, all]) => [path, Object.keys(all as object)]);
  t.strictSame(Object.fromEntries(methods), {
    '/v1/things/{id}': ['get', 'delete'],
    '/v1/things': ['get', 'post'],
    '/guides/things': ['get'],
  });
  const about = {
    'x-gatehouse-version': '0.1.0',
    license: { name: 'MIT License', identifier: 'MIT' },
    tags: [
      { name: 'guides', description: 'To be read.' },
      { name: 'others', description: 'Without operations.' },
    ],
  };
  const more = documentOf(ROUTES, { ...OPTIONS, ...about });
  t.strictSame(await documentProblems(more), []);
  t.strictSame(more.info.license, about.license);
  t.equal(more.info['x-gatehouse-version'], '0.1.0');
  t.strictSame(
    more.tags,
    [about.tags[0], { name: 'things' }],
    'in their order, followed by those without a description',
  );
  const { origin: _, ...without } = OPTIONS;
  t.strictSame(await documentProblems(documentOf(ROUTES, without)), [], 'without an origin');
  t.notOk('servers' in documentOf(ROUTES, without));
});

t.test('parameters', async (t) => {
  const { paths } = documentOf();
  t.strictSame(paths['/v1/things/{id}'].get.parameters, [
    { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
    {
      name: 'If-None-Match',
      description:
        'The versions that the client has stored. If the current one is among them, the response is 304.',
      schema: { type: 'string' },
      in: 'header',
      required: false,
    },
  ]);
  t.match(paths['/v1/things/{id}'].delete.parameters, [
    { name: 'id', in: 'path', required: true },
    { name: 'If-Match', in: 'header', required: false },
  ]);
  t.match(paths['/v1/things'].post.parameters, [{ name: 'Idempotency-Key', in: 'header', required: false }]);
  t.notOk('parameters' in paths['/guides/things'].get);
  t.strictSame(
    paths['/v1/things'].get.parameters,
    [
      {
        name: 'limit',
        in: 'query',
        description: 'How many.',
        required: false,
        schema: { type: 'integer', minimum: 1, default: 20 },
      },
      {
        name: 'offset',
        in: 'query',
        description: 'Profile X: After how many.',
        required: false,
        // No default: without it, another profile may answer.
        schema: { type: 'integer' },
      },
      {
        name: 'kind',
        in: 'query',
        description: 'Profile X: Its name. Profiles Y, Z: Its number.',
        required: true,
        schema: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      },
      {
        name: 'old',
        in: 'query',
        description: 'Profile X.',
        required: false,
        deprecated: true,
        schema: { type: 'string' },
      },
      {
        name: 'filter[id]',
        in: 'query',
        description: 'By id.',
        required: false,
        schema: { type: 'string' },
      },
      {
        name: 'page',
        in: 'query',
        description: 'Profiles Y, Z: Which page.',
        required: false,
        schema: { type: 'integer' },
      },
    ],
    'each once, even if several profiles have it',
  );
  const kind = { profile: 'X', schema: Type.Object({ kind: Type.String() }) };
  const needed = { ...LIST, query: [kind, { profile: 'Y', schema: Type.Object({}) }] };
  const [{ required }] = documentOf([{ url: '/v1/things', method: 'GET', operation: needed }]).paths[
    '/v1/things'
  ].get.parameters;
  t.equal(required, false, 'a parameter that is required in one profile and unknown in another');
});

t.test('alternatives are oneOf, and anyOf where the same value can match several', async (t) => {
  const { paths, components } = documentOf();
  const list = { $ref: '#/components/schemas/ThingList' };
  const pages = [{ $ref: '#/components/schemas/ThingPage' }, { $ref: '#/components/schemas/NamedThingPage' }];
  const { content } = paths['/v1/things'].get.responses[200];
  t.strictSame(content['application/json'].schema, { oneOf: [list, { anyOf: pages }] });
  t.strictSame(content['application/json'].examples, { ThingList: { value: [ann] } });
  const { requestBody, responses } = paths['/v1/things'].post;
  const shapes = [{ $ref: '#/components/schemas/Thing' }, { $ref: '#/components/schemas/NamedThing' }];
  const examples = { Thing: { value: ann }, NamedThing: { value: { id: 'th_1', name: 'one' } } };
  const sent = { schema: { anyOf: shapes }, examples };
  t.strictSame(requestBody, { required: true, content: { 'application/json': sent } }, 'may have more');
  const responded = { schema: { oneOf: shapes }, examples };
  t.strictSame(responses[201].content, { 'application/json': responded });
  t.strictSame(components.schemas.Thing, {
    type: 'object',
    required: ['id', 'email'],
    properties: {
      id: { type: 'string', description: 'Opaque.' },
      email: { type: ['string', 'null'], format: 'email' },
    },
  });
  t.strictSame(paths['/v1/things/{id}'].get.responses[200].content['application/json'].schema, {
    $ref: '#/components/schemas/Thing',
  });
});

t.test('errors follow from what an operation takes', async (t) => {
  const { paths, components } = documentOf();
  const statuses = ({ responses }: { responses: object }) => Object.keys(responses).map(Number);
  t.strictSame(statuses(paths['/v1/things/{id}'].get), [200, 304, 401, 403, 404, 429, 500, 503]);
  t.strictSame(statuses(paths['/v1/things'].get), [200, 400, 401, 403, 429, 500, 503]);
  t.strictSame(
    statuses(paths['/v1/things'].post),
    [201, 400, 401, 403, 408, 409, 413, 415, 422, 429, 500, 503],
  );
  t.strictSame(
    statuses(paths['/v1/things/{id}'].delete),
    [204, 400, 401, 403, 404, 408, 412, 413, 415, 429, 500, 503],
  );
  t.strictSame(statuses(paths['/guides/things'].get), [200, 500]);
  t.strictSame(paths['/v1/things'].post.responses[409], {
    $ref: '#/components/responses/ApiErrorText_conflict',
  });
  const { description, headers, content } = components.responses.ApiErrorV2_invalid;
  t.type(description, 'string');
  t.strictSame(Object.keys(headers), ['X-Request-Id', 'RateLimit', 'RateLimit-Policy']);
  t.match(content, {
    'application/json': {
      schema: { $ref: '#/components/schemas/ApiErrorV2' },
      example: { error: { code: 'invalid_parameter', message: 'The body is not valid JSON.' } },
    },
  });
  t.equal(components.responses.ApiError_rate_limited.headers['Retry-After'].required, true);
  t.equal(components.responses.ApiError_unauthenticated.headers['WWW-Authenticate'].required, true);
  t.match(components.schemas.ApiErrorV2.properties.error.properties.code, {
    type: 'string',
    enum: ['invalid_parameter'],
  });
});

t.test('errors as examples', async (t) => {
  const exampleOf = (name: string, options = OPTIONS) =>
    documentOf(ROUTES, options).components.responses[name].content['application/json'].example;
  const notFound = new ServiceError('not_found', 'There is no such thing.');
  const own = { ...OPTIONS, errorExamples: { not_found: notFound } };
  t.strictSame(exampleOf('ApiError_not_found', own), upperCaseCodeBody.write(notFound));
  t.strictSame(exampleOf('ApiErrorV2_not_found', own), v2Body.write(notFound));
  t.match(exampleOf('ApiError_not_found'), { error: { message: 'There is nothing here.' } });
  t.match(exampleOf('ApiError_forbidden_read_users_read_all'), {
    error: { message: 'This needs the scope read:users or read:all.' },
  });
  t.match(exampleOf('ApiErrorV2_forbidden_write_users'), {
    error: { message: 'This needs the scope write:users.' },
  });
  t.match(exampleOf('ApiErrorText_forbidden'), { error: 'You are not permitted to do this.' });
});

t.test('parts of a shape are references', async (t) => {
  const { schemas } = documentOf().components;
  const ref = { $ref: '#/components/schemas/NamedThing' };
  t.strictSame(schemas.NamedThingPage.properties.data.items, ref);
  t.strictSame(schemas.NamedThing.required, ['id', 'name']);
  t.match(schemas.ThingList.items, { type: 'object' }, 'only if declared');
  const list = (parts: Shape[]): Operation => ({
    ...LIST,
    responses: { 200: { description: 'A page.', shapes: [{ ...pageOf(thing), parts }] } },
  });
  const document = (parts: Shape[]) =>
    documentOf([{ url: '/v1/things', method: 'GET', operation: list(parts) }]);
  t.throws(() => document([named]), { message: 'ThingPage does not contain all of its parts' });
});

t.test('headers of answers', async (t) => {
  const { paths } = documentOf();
  const required = (path: string, method: string, status: number) =>
    Object.fromEntries(
      Object.entries(paths[path][method].responses[status].headers).map(([name, header]) => [
        name,
        (header as { required: boolean }).required,
      ]),
    );
  const always = { 'X-Request-Id': true };
  const limits = { RateLimit: false, 'RateLimit-Policy': false };
  t.strictSame(required('/v1/things/{id}', 'get', 200), { ...always, ETag: true, ...limits });
  t.strictSame(required('/v1/things/{id}', 'get', 304), { ...always, ETag: true, ...limits });
  t.strictSame(required('/v1/things', 'get', 200), { ...always, Link: false, ...limits });
  t.strictSame(required('/v1/things', 'post', 201), {
    ...always,
    Location: true,
    ...limits,
    'Idempotency-Replayed': false,
  });
  t.strictSame(required('/guides/things', 'get', 200), { ...always, 'Cache-Control': true });
  t.notOk('content' in paths['/v1/things/{id}'].delete.responses[204]);
  t.strictSame(paths['/guides/things'].get.responses[200].content, {
    'text/markdown': { schema: { type: 'string' } },
  });
});

t.test('credentials', async (t) => {
  const { paths, components } = documentOf();
  const { get } = paths['/v1/things/{id}'];
  t.strictSame(get.security, [{ bearer: [] }, { oauth2: ['read:users'] }, { oauth2: ['read:all'] }]);
  t.equal(get.description, 'Requires the scope `read:users` or `read:all`.');
  const { post } = paths['/v1/things'];
  t.strictSame(post.security, [{ bearer: [] }, { oauth2: [] }]);
  t.equal(post.description, 'With an address, or a name.', 'without a required scope');
  t.strictSame(paths['/guides/things'].get.security, []);
  t.notOk('description' in paths['/guides/things'].get);
  t.strictSame(Object.keys(components.securitySchemes), ['bearer', 'oauth2']);
  const { bearer, oauth2 } = components.securitySchemes;
  t.match(bearer, { type: 'http', scheme: 'bearer', description: /access token or an API key: .*ApiKey/ });
  t.match(oauth2.flows, {
    authorizationCode: {
      authorizationUrl: 'https://api.example.org/oauth2/authorize',
      tokenUrl: 'https://api.example.org/oauth2/token',
      scopes: { openid: String, 'write:users': String, 'read:all': String },
    },
    clientCredentials: { tokenUrl: 'https://api.example.org/oauth2/token' },
  });
});

t.test('duplicate ids and names are rejected', async (t) => {
  const twice = [...ROUTES, { url: '/v2/things', method: 'GET', operation: READ }];
  t.throws(() => documentOf(twice), { message: 'two operations have the id readThing' });
  const other: Operation = {
    ...READ,
    operationId: 'other',
    responses: { 200: { description: 'Another.', shapes: [{ ...named, name: 'Thing' }] } },
  };
  const named2 = [...ROUTES, { url: '/v2/things', method: 'GET', operation: other }];
  t.throws(() => documentOf(named2), { message: 'two schemas have the name Thing' });
});

t.test('applications authenticate as at the token endpoint, with a form', async (t) => {
  const token: Operation = {
    ...{ operationId: 'token', summary: 'Request tokens', tag: 'oauth', clientAuthentication: true },
    body: [{ name: 'TokenRequest', schema: Type.Object({ grant_type: Type.String() }) }],
    bodyTypes: ['application/x-www-form-urlencoded'],
    responses: {
      200: { description: 'The tokens.' },
      429: { description: 'A page.', mediaType: 'text/html' },
    },
    errors: {
      body: upperCaseCodeBody,
      kinds: ['unauthenticated', 'rate_limited'],
      headers: { unauthenticated: { 'WWW-Authenticate': 'sometimes' } },
    },
  };
  const route = { url: '/token', method: 'POST', operation: token };
  const document = JSON.parse(JSON.stringify(openApiDocument(OPTIONS, [route])));
  t.same(await documentProblems(document), []);
  const { post } = document.paths['/token'];
  t.same(post.security, [{ client_secret_basic: [] }, {}]);
  t.same(Object.keys(post.requestBody.content), ['application/x-www-form-urlencoded']);
  t.same(Object.keys(post.responses['429'].content), ['text/html'], 'an answer of its own');
  const unauthenticated = document.components.responses.ApiError_unauthenticated;
  t.equal(unauthenticated.headers['WWW-Authenticate'].required, false);
  t.match(document.components.securitySchemes, { client_secret_basic: { scheme: 'basic' } });
});

t.test('a scope that no application can have needs a token of Gatehouse itself', async (t) => {
  t.same(securityOf(['manage:apps']), [{ bearer: [] }]);
  t.same(securityOf(['read:data']), [{ bearer: [] }, { oauth2: ['read:data'] }]);
  t.same(securityOf([]), [{ bearer: [] }, { oauth2: [] }]);
  t.same(securityOf(undefined), []);
});
