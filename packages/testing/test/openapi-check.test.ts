import {
  createOpenApiCheck,
  createRequestCheck,
  documentProblems,
  type RealResponse,
} from '@gatehouse/testing/openapi-check';
import t from 'tap';

const text = { type: 'string' };
const json = (schema: object, more: object = {}) => ({
  content: { 'application/json': { schema, ...more } },
});
const ok = (schema: object, more: object = {}) => ({ description: 'Fine.', ...json(schema, more) });
const get = (operationId: string, responses: object) => ({ get: { operationId, responses } });
const closed = { type: 'object', required: ['a'], properties: { a: text } };

const DOCUMENT = {
  openapi: '3.1.1',
  info: { title: 'Things', version: '1' },
  paths: {
    '/things': {
      get: {
        operationId: 'list',
        responses: {
          200: {
            description: 'Fine.',
            headers: { ETag: { required: true, schema: text }, Link: { schema: text } },
            ...json({
              oneOf: [
                { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
                {
                  type: 'object',
                  required: ['data'],
                  properties: { data: { type: 'array', items: { $ref: '#/components/schemas/Thing' } } },
                },
              ],
            }),
          },
          404: { $ref: '#/components/responses/Missing' },
        },
      },
      delete: { operationId: 'clear', responses: { 204: { description: 'Gone.' } } },
    },
    '/things/{id}': get('read', { 200: ok({ $ref: '#/components/schemas/Thing' }) }),
    '/things/search': get('search', {
      200: ok({ type: 'object', properties: { found: { type: 'integer' } } }),
    }),
    '/guide': get('guide', { 200: { description: 'Fine.', content: { 'text/markdown': { schema: text } } } }),
    '/all': get('all', {
      200: ok({ allOf: [{ $ref: '#/components/schemas/Thing' }, { properties: { more: closed } }] }),
    }),
    '/beside': get('beside', {
      200: ok({ type: 'object', properties: { x: text }, oneOf: [{ properties: { y: text } }] }),
    }),
    '/free': get('free', { 200: ok({ type: 'object', additionalProperties: text }) }),
    '/either': get('either', {
      200: ok({ oneOf: [closed, { type: 'object', required: ['a'], properties: { a: text, b: text } }] }),
    }),
    '/any': get('any', {
      200: ok({ anyOf: [closed, { type: 'object', required: ['a'], properties: { a: text, b: text } }] }),
    }),
    '/empty': get('empty', { 200: ok({ type: 'object' }) }),
  },
  components: {
    schemas: {
      Thing: {
        type: 'object',
        required: ['id'],
        properties: {
          id: text,
          at: { type: 'string', format: 'date-time' },
          email: { anyOf: [{ type: 'string', format: 'email' }, { type: 'null' }] },
          inner: { type: 'object', properties: { a: text } },
          value: {},
        },
      },
    },
    responses: { Missing: { description: 'No.', ...json({ type: 'object', properties: { error: text } }) } },
  },
};

const check = createOpenApiCheck(DOCUMENT);
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const response = (path: string, body: unknown, more: Partial<RealResponse> = {}): RealResponse => ({
  method: 'GET',
  path,
  status: 200,
  headers: { ...JSON_TYPE, etag: '"1"' },
  body,
  ...more,
});

const FINE: [label: string, response: RealResponse][] = [
  [
    'a list',
    response('/things?limit=1', [{ id: 'a' }, { id: 'b', at: '2026-01-01T00:00:00.000Z', email: null }]),
  ],
  ['an empty list', response('/things', [])],
  ['an envelope', response('/things', { data: [{ id: 'a' }] })],
  [
    'headers as fetch has them',
    response('/things', [], { headers: new Headers({ ...JSON_TYPE, ETag: '"1"' }) }),
  ],
  ['an error', response('/things', { error: 'No.' }, { status: 404 })],
  ['one', response('/things/x', { id: 'x', email: 'a@example.org', inner: { a: 'b' } })],
  ['any value', response('/things/x', { id: 'x', value: { whatever: [1] } })],
  ['by a literal path', response('/things/search', { found: 1 })],
  ['by an encoded path', response('/things/a%2Fb', { id: 'a/b' })],
  ['no body', response('/things', undefined, { method: 'DELETE', status: 204, headers: {} })],
  ['no body, as a text', response('/things', '', { method: 'DELETE', status: 204, headers: {} })],
  ['HEAD', response('/things', undefined, { method: 'HEAD' })],
  ['a text', response('/guide', '# Guide', { headers: { 'content-type': 'text/markdown; charset=utf-8' } })],
  ['allOf', response('/all', { id: 'a', more: { a: 'b' } })],
  ['a combination beside fields', response('/beside', { x: 'a', y: 'b' })],
  ['free fields', response('/free', { whatever: 'x' })],
  ['either, which only one of them names', response('/any', { a: 'x', b: 'y' })],
  ['an empty object', response('/empty', {})],
  ['no such path', response('/nothing', {}, { status: 404 })],
  ['a path that cannot be decoded', response('/things/%zz', {}, { status: 400 })],
  ['another method', response('/guide', {}, { method: 'POST', status: 405 })],
  ['a preflight', response('/things', undefined, { method: 'OPTIONS', status: 204 })],
];

const WRONG: [problem: RegExp, response: RealResponse][] = [
  [/GET \/nothing 200: the operation is not documented/, response('/nothing', {})],
  [
    /POST \/things 201: the operation is not documented/,
    response('/things', {}, { method: 'POST', status: 201 }),
  ],
  [/the operation is not documented/, response('/things/%zz', { id: 'x' })],
  [/the operation is not documented/, response('/things/', { id: '' })],
  [/the status is not documented/, response('/things/x', { error: 'No.' }, { status: 404 })],
  [/the header ETag is missing/, response('/things', [], { headers: JSON_TYPE })],
  [
    /the type text\/html is not documented/,
    response('/things/x', '', { headers: { 'content-type': 'text/html' } }),
  ],
  [/the type {2}is not documented/, response('/things/x', undefined, { headers: {} })],
  [/there is a body/, response('/things', {}, { method: 'DELETE', status: 204 })],
  [/there is a body/, response('/things', undefined, { method: 'DELETE', status: 204 })],
  [/body must have required property 'id'/, response('/things/x', {})],
  [/body must be object/, response('/things/x', undefined)],
  [
    /body must NOT have unevaluated properties password_hash/,
    response('/things/x', { id: 'x', password_hash: '' }),
  ],
  [/body\/inner must NOT have unevaluated/, response('/things/x', { id: 'x', inner: { a: 'b', c: 1 } })],
  [/body\/at must match format "date-time"/, response('/things/x', { id: 'x', at: 'yesterday' })],
  [/body\/email must match format "email"/, response('/things/x', { id: 'x', email: 'nobody' })],
  [/body must match exactly one schema/, response('/things', [{ id: 'a', leak: 1 }])],
  [/body must match exactly one schema/, response('/things', { data: [], leak: 1 })],
  [
    /body must NOT have unevaluated properties leak/,
    response('/things', { error: 'No.', leak: 1 }, { status: 404 }),
  ],
  [/body must NOT have unevaluated properties leak/, response('/all', { id: 'a', leak: 1 })],
  [
    /body\/more must NOT have unevaluated properties leak/,
    response('/all', { id: 'a', more: { a: 'b', leak: 1 } }),
  ],
  [/body must NOT have unevaluated properties leak/, response('/beside', { x: 'a', leak: 'b' })],
  [/body\/whatever must be string/, response('/free', { whatever: 1 })],
  [/body must match exactly one schema/, response('/either', { a: 'x', b: 'y' })],
  [/body must match exactly one schema/, response('/either', { a: 'x' })],
  [/body must match a schema in anyOf/, response('/any', { a: 'x', c: 'y' })],
  [/body must NOT have unevaluated properties a/, response('/empty', { a: 1 })],
];

t.test('answers as documented', async (t) => {
  for (const [label, fine] of FINE) t.strictSame(check(fine), [], label);
});

t.test('answers that are not', async (t) => {
  for (const [problem, wrong] of WRONG) {
    t.match(check(wrong).join('\n'), problem, `${wrong.method} ${wrong.path} ${JSON.stringify(wrong.body)}`);
  }
});

t.test('bodies of requests', async (t) => {
  const body = { required: true, ...json({ anyOf: [closed, { $ref: '#/components/schemas/Thing' }] }) };
  const post = { operationId: 'make', requestBody: body, responses: { 204: { description: 'Done.' } } };
  const problemsOf = createRequestCheck({ ...DOCUMENT, paths: { '/things/{id}': { post } } });
  const make = (body: unknown) => problemsOf({ method: 'POST', path: '/things/x?y=z', body }).join('\n');
  t.equal(make({ a: 'x' }), '');
  t.equal(make({ id: 'x', a: 1, more: 1 }), '', 'with whatever nobody names');
  t.match(make({ a: 1 }), /body\/a must be string/);
  t.match(make([]), /body must be object/);
  const other = { method: 'PUT', path: '/things/x', body: {} };
  t.strictSame(problemsOf(other), ['no body is documented']);
});

t.test('the document itself', async (t) => {
  const before = JSON.stringify(DOCUMENT);
  t.strictSame(await documentProblems(DOCUMENT), []);
  t.equal(JSON.stringify(DOCUMENT), before, 'is left as it is');
  const problems = async (paths: object) => (await documentProblems({ ...DOCUMENT, paths })).join('\n');
  t.match(await documentProblems({ ...DOCUMENT, info: {} }), [/title/], 'what OpenAPI itself asks for');
  t.match(await problems({ '/a': { get: { operationId: 'a', responses: { 200: {} } } } }), /description/);
  const twice = get('a', { 204: { description: 'Gone.' } });
  t.match(await problems({ '/a': twice, '/b': twice }), /get \/b: the operationId 'a' is not its own/);
  t.match(
    await problems({ '/a': get('a', { 200: ok(closed, { example: { a: 1 } }) }) }),
    /get \/a: the example body\/a must be string/,
  );
  t.match(
    await problems({
      '/a': get('a', { 200: ok(closed, { examples: { one: { value: { a: 'x', b: 1 } } } }) }),
    }),
    /the example body must NOT have unevaluated properties b/,
  );
  const body = { required: true, ...json(closed, { example: {} }) };
  const post = { operationId: 'a', requestBody: body, responses: { 204: { description: 'Done.' } } };
  t.match(await problems({ '/a': { post } }), /post \/a: the example body must have required property 'a'/);
  const dangling = get('a', { 200: ok({ $ref: '#/components/schemas/Missing' }) });
  t.match(await problems({ '/a': dangling }), /Missing/);
});
