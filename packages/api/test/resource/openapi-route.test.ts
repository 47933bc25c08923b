import { v2Body } from '@gatehouse/api/http/error-bodies';
import { documented, type Operation } from '@gatehouse/api/openapi/operation';
import { createApp } from '@gatehouse/api/resource/app';
import { logger } from '@gatehouse/testing/test-logger';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { Type } from 'typebox';

const DOCUMENT = '/openapi/things.json';
const PATH = '/v1/things/:id';
const handler = async () => ({});

const READ: Operation = {
  operationId: 'readThing',
  summary: 'Read a thing',
  tag: 'things',
  responses: { 200: { description: 'The thing.', shapes: [{ name: 'Thing', schema: Type.Object({}) }] } },
  errors: { body: v2Body },
};
const CREATE: Operation = {
  ...READ,
  operationId: 'createThing',
  body: [{ name: 'NewThing', schema: Type.Object({ id: Type.String() }, { additionalProperties: false }) }],
};

async function serve(t: Test, addRoutes: (app: FastifyInstance) => void) {
  const app = createApp({
    logger,
    errorBodyFor: () => v2Body,
    translate: () => undefined,
    openapi: { title: 'Things’ own', version: '1.2.3', description: 'All about things.', path: DOCUMENT },
  });
  t.teardown(() => app.close());
  addRoutes(app);
  await app.ready();
  return app;
}

t.test('only documented routes are in the document, by their methods', async (t) => {
  const app = await serve(t, (app) => {
    app.get(PATH, { schema: documented(READ) }, handler);
    app.get('/v1/plain', handler);
    app.post('/v1/things', { schema: documented(CREATE) }, handler);
    app.register(async (inner) => {
      inner.get('/inner', { schema: documented({ ...READ, operationId: 'readInner' }) }, handler);
    });
  });
  const { info, paths } = (await app.inject(DOCUMENT)).json();
  t.strictSame(info, { title: 'Things’ own', version: '1.2.3', description: 'All about things.' });
  const methods = Object.entries(paths).map(([path, all]) => [path, Object.keys(all as object)]);
  t.strictSame(
    methods,
    [
      ['/v1/things/{id}', ['get']],
      ['/v1/things', ['post']],
      ['/inner', ['get']],
    ],
    'without HEAD',
  );
  t.equal(
    (await app.inject({ method: 'HEAD', url: '/v1/things/x' })).statusCode,
    200,
    'which goes on working',
  );
});

t.test('Fastify neither validates nor serializes by the documentation', async (t) => {
  const app = await serve(t, (app) => {
    app.post<{ Body: unknown }>('/v1/things', { schema: documented(CREATE) }, async ({ body }) => ({
      body,
      undeclared: 1,
    }));
  });
  const odd = await app.inject({ method: 'POST', url: '/v1/things', payload: { odd: true } });
  t.strictSame(odd.json(), { body: { odd: true }, undeclared: 1 });
});

t.test('the document is public and has an ETag', async (t) => {
  const app = await serve(t, (app) => app.get(PATH, { schema: documented(READ) }, handler));
  const ask = (headers = {}) => app.inject({ url: DOCUMENT, headers });
  const first = await ask();
  t.equal(first.statusCode, 200);
  t.equal(first.headers['content-type'], 'application/json; charset=utf-8');
  t.equal(Number(first.headers['content-length']), Buffer.byteLength(first.body));
  t.equal(first.headers['cache-control'], 'public, max-age=300');
  t.equal(first.headers['access-control-allow-origin'], '*');
  const { etag } = first.headers;
  t.match(etag, /^"[\w-]{43}"$/);
  const again = await ask({ 'if-none-match': etag });
  t.equal(again.statusCode, 304);
  t.equal(again.headers.etag, etag);
  t.equal(again.body, '');
  t.equal((await ask({ 'if-none-match': '"other"' })).statusCode, 200);
  const other = await serve(t, (app) => app.get('/v2/things', { schema: documented(READ) }, handler));
  t.not((await other.inject(DOCUMENT)).headers.etag, etag, 'another document has another');
});

t.test('mistakes in the documentation fail the start of the app', async (t) => {
  await t.rejects(
    serve(t, (app) => {
      app.get(PATH, { schema: documented(READ) }, handler);
      app.get('/other', { schema: documented(READ) }, handler);
    }),
    { message: 'two operations have the id readThing' },
  );
});
