import { setTimeout as sleep } from 'node:timers/promises';
import { createOpenApiCheck, documentProblems } from '@gatehouse/testing/openapi-check';
import Router from '@koa/router';
import t from 'tap';
import { differences } from '../../src/openapi/openapi-routes.ts';
import type { Operations } from '../../src/openapi/operations.ts';
import { build } from '../build.ts';

const { base } = await build(t);
const PATH = `${base}/openapi/identity.json`;

t.test('the document is valid, and its examples are', async (t) => {
  const response = await fetch(PATH);
  t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
  t.equal(response.headers.get('access-control-allow-origin'), '*');
  const etag = String(response.headers.get('etag'));
  const again = await fetch(PATH, { headers: { 'if-none-match': etag } });
  t.equal(again.status, 304);
  const document = (await response.json()) as { openapi: string; paths: Record<string, object> };
  t.match(document, { openapi: '3.1.1', servers: [{ url: base }] });
  t.same(await documentProblems(document), []);
  for (const path of ['/oauth/token', '/oauth2/authorize', '/userinfo', '/api/v1/audit'])
    t.hasProp(document.paths, path);
  t.notMatch(Object.keys(document.paths).join(), /(^|,)\/(sign-in|consent|account|internal)\b/);
});

const SERVED: [path: string, accept: string, status: number, type: string][] = [
  ['/.well-known/jwks.json', '*/*', 200, 'application/jwk-set+json; charset=utf-8'],
  ['/.well-known/openid-configuration', '*/*', 200, 'application/json; charset=utf-8'],
  ['/oauth2/logout', 'text/html', 200, 'text/html; charset=utf-8'],
  ['/oauth2/logout?client_id=x', 'text/html', 400, 'text/html; charset=utf-8'],
  ['/oauth2/logout?client_id=x', 'application/json', 400, 'application/json; charset=utf-8'],
];

t.test('responses of the provider have the content types of the document', async (t) => {
  // The checks take longer than the server keeps an idle connection: it is closed in the meantime.
  await sleep(100);
  const check = createOpenApiCheck((await (await fetch(PATH)).json()) as object);
  await sleep(100);
  for (const [path, accept, status, type] of SERVED) {
    const response = await fetch(base + path, { headers: { accept } });
    const text = await response.text();
    t.equal(response.status, status, path);
    t.equal(response.headers.get('content-type'), type, `${path} as ${accept}`);
    const body = type.includes('json') ? JSON.parse(text) : text;
    t.same(check({ method: 'GET', path, status, headers: response.headers, body }), []);
  }
});

t.test('a route without an operation is found, and an operation without a route', async (t) => {
  const handler = () => {};
  const router = new Router({ prefix: '/things' })
    .get('/', handler)
    .post('/:id', handler)
    .options('/:id', handler)
    .use(handler);
  const pages = new Router().get('/account', handler).get('/account/sessions', handler);
  const passedOn = new Router().all('/oauth2/x', handler).all('/oauth2/authorize/:uid', handler);
  const operation = {} as Operations[string];
  const of = (...keys: string[]) => Object.fromEntries(keys.map((key) => [key, operation]));
  const routers = [router, pages, passedOn];
  const among = (...keys: string[]) => differences(of(...keys), routers, ['/account']);
  t.same(among('GET /things', 'POST /things/:id', 'POST /oauth2/x'), []);
  t.same(among('GET /things', 'PUT /things/:id', 'GET /oauth2/y'), [
    'POST /things/:id is not documented',
    '/oauth2/x is not documented',
    'PUT /things/:id is not served',
    'GET /oauth2/y is not served',
  ]);
});
