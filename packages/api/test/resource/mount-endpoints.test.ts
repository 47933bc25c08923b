import { v2Body } from '@gatehouse/api/http/error-bodies';
import { JsonText } from '@gatehouse/api/http/json-body';
import { done, ok, shape } from '@gatehouse/api/openapi/shapes';
import { createApp } from '@gatehouse/api/resource/app';
import { mountEndpoints } from '@gatehouse/api/resource/mount-endpoints';
import { ServiceError } from '@gatehouse/core/errors';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import type { Caller } from '@gatehouse/tokens/caller';
import t from 'tap';
import { Type } from 'typebox';

const DOCUMENT = '/openapi/things.json';
const { logger, lines } = recordingLogger();
const app = createApp({
  logger,
  errorBodyFor: () => v2Body,
  translate: () => undefined,
  openapi: { title: 'Things', version: '1.2.3', description: 'All about things.', path: DOCUMENT },
});
t.teardown(() => app.close());
const Thing = shape('Thing', Type.Object({ size: Type.Integer() }));
const NewThing = shape('NewThing', Type.Object({ size: Type.Integer() }));
const things = mountEndpoints(
  app,
  async (request) => {
    request.caller = { scopes: new Set(String(request.headers.scope).split(' ')) } as unknown as Caller;
  },
  { prefix: '/v2/things', errors: { body: v2Body }, scopes: ['write:data'] },
);
things.get('list', '/', {
  summary: 'List',
  scopes: ['read:data'],
  query: Type.Object({ limit: Type.Integer() }),
  responses: ok('The list.', Thing),
  handle: ({ query }) => new JsonText(`{"size": ${query.limit}}`),
});
things.post('make', '/:id/parts', {
  operationId: 'make_part',
  summary: 'Make',
  body: NewThing,
  responses: { 202: { description: 'Soon.', shapes: [Thing] } },
  kinds: ['conflict'],
  admit({ params }) {
    if (params.id === 'closed') throw new ServiceError('forbidden', 'It is closed.');
  },
  handle({ reply, params, body }) {
    reply.header('location', `/v2/things/${params.id}`);
    return body;
  },
});
things.delete('remove', '/:id', {
  summary: 'Remove',
  body: shape('Removal', Type.Object({ why: Type.Optional(Type.String()) })),
  isBodyOptional: true,
  responses: done('Gone.'),
  handle: async () => {},
});
things.put('own', '/own', {
  summary: 'Respond by itself',
  scopes: [],
  documentedBody: Thing,
  responses: ok('The body.', Thing),
  handle: ({ request, reply }) => reply.code(203).send(request.body),
});
await app.ready();

type Row = [
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  scope: string,
  body: string,
  response: string,
];
const ROWS: Row[] = [
  ['GET', '/v2/things?limit=3', 'read:data', '', '200 {"size": 3}'],
  ['GET', '/v2/things?limit=x', 'read:data', '', '400 invalid_parameter'],
  ['GET', '/v2/things?limit=3', 'write:data', '', '403 forbidden'],
  ['POST', '/v2/things/a/parts', 'write:data', '{"size":1}', '202 {"size":1} at /v2/things/a'],
  ['POST', '/v2/things/a/parts', 'write:data', '{"size":"1"}', '400 invalid_parameter'],
  ['POST', '/v2/things/a/parts', 'write:data', '', '400 invalid_parameter'],
  // Before the body is read.
  ['POST', '/v2/things/closed/parts', 'write:data', '{', '403 forbidden'],
  ['POST', '/v2/things/a/parts', 'read:data', '{', '403 forbidden'],
  ['DELETE', '/v2/things/a', 'write:data', '', '204 '],
  ['DELETE', '/v2/things/a', 'write:data', '{"why":1}', '400 invalid_parameter'],
  ['PUT', '/v2/things/own', 'other:data', '{"size":"1"}', '203 {"size":"1"}'],
  ['POST', '/v2/things/a', 'write:data', '', '405 method_not_allowed'],
];

t.test('endpoints do what is declared', async (t) => {
  for (const [method, url, scope, payload, expected] of ROWS) {
    const type = payload === '' ? {} : { 'content-type': 'application/json' };
    const { statusCode, body, headers } = await app.inject({
      method,
      url,
      payload,
      headers: { scope, ...type },
    });
    const text = statusCode < 400 ? body : JSON.parse(body).error.code;
    const place = headers.location === undefined ? '' : ` at ${headers.location}`;
    t.equal(`${statusCode} ${text}${place}`, expected, `${method} ${url} ${payload} by ${scope}`);
  }
  t.same(lines, [], 'nothing is sent twice');
});

t.test('the document says what is declared', async (t) => {
  const { paths } = (await app.inject(DOCUMENT)).json();
  const { get } = paths['/v2/things'];
  t.match(get, { operationId: 'list_v2_things', tags: ['/v2/things'] });
  t.equal(get.description, 'Requires the scope `read:data`.');
  const { post } = paths['/v2/things/{id}/parts'];
  t.match(post, { operationId: 'make_part', description: 'Requires the scope `write:data`.' });
  t.hasOwnProps(post.responses, ['202', '403', '404', '409']);
  const { put } = paths['/v2/things/own'];
  t.same(put.requestBody.content['application/json'].schema, { $ref: '#/components/schemas/Thing' });
});
