import { plainBody, upperCaseCodeBody } from '@gatehouse/api/http/error-bodies';
import { BODY_LIMIT } from '@gatehouse/api/http/json-body';
import { ServiceError } from '@gatehouse/core/errors';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { serveRoutes, things } from './serve-app.ts';

const ORIGIN = { origin: 'https://app.example' };
const JSON_BODY = { 'content-type': 'application/json' };

/** By status, in the errors of /v1 and of /v2. */
const CODES: Record<number, [v1: string, v2: string]> = {
  400: ['INVALID_INPUT', 'invalid_parameter'],
  404: ['NOT_FOUND', 'not_found'],
  405: ['METHOD_NOT_ALLOWED', 'method_not_allowed'],
  413: ['PAYLOAD_TOO_LARGE', 'payload_too_large'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'unsupported_media_type'],
};
const post = (body: string | Buffer, headers: Record<string, string> = JSON_BODY) => ({
  method: 'POST',
  body,
  headers,
});

type Case = [label: string, status: number, path: string, options?: RequestInit, headers?: object];
const REFUSED: Case[] = [
  ['no such path', 404, '/nothing'],
  ['a deeper path', 404, '/things/a/b'],
  ['a slash at the end', 404, '/things/x/'],
  ['another case', 404, '/Things'],
  ...['/things/', '//things', '/things//', '/thing%73', '/things/%78', '/things/a%2fb', '/things/a;b'].map(
    (path): Case => [`another spelling, ${path}`, 404, path],
  ),
  ['no such path, with a body', 404, '/nothing', post('{"a":1}')],
  ['another method', 405, '/things', { method: 'DELETE' }, { allow: 'GET, HEAD, POST' }],
  [
    'another method, of a path with a parameter',
    405,
    '/things/x?a=b',
    { ...post('{}'), method: 'PATCH' },
    { allow: 'GET, HEAD, PUT' },
  ],
  [
    'another method, where two routes fit',
    405,
    '/things/search',
    { method: 'DELETE' },
    { allow: 'GET, HEAD, PUT' },
  ],
  ['a rare method', 405, '/things', { method: 'PROPFIND' }, { allow: 'GET, HEAD, POST' }],
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'application/ld+json',
    'json',
    ';',
  ].map((type): Case => [`the type ${type}`, 415, '/things', post('{}', { 'content-type': type })]),
  ['no type', 415, '/things', post(Buffer.from('{}'), {})],
  ...['{', '{"a":1}}', '{"__proto__":{}}', '{"a":"\\u0000"}', '\u0000', ' '].map(
    (body): Case => [`the body ${JSON.stringify(body)}`, 400, '/things', post(body)],
  ),
  ['a body that is not UTF-8', 400, '/things', post(Buffer.from([0x22, 0xff, 0x22]))],
  // It can be parsed, but not be stored or written again.
  ...['1', '"\\u0041"'].map(
    (inner): Case => [
      `a body nested 100,000 deep, with ${inner}`,
      400,
      '/things',
      post('['.repeat(100_000) + inner + ']'.repeat(100_000)),
    ],
  ),
  ['a body that is too large', 413, '/things', post(' '.repeat(BODY_LIMIT + 1)), { connection: 'close' }],
  ...['/things/%', '/things/%zz', '/things/%ff', '/things/%c3%28'].map((path): Case => [path, 400, path]),
];

t.test('a route that declares no dry runs refuses them before it does anything', async (t) => {
  let runs = 0;
  const handler = async () => ({ runs: ++runs });
  const { url } = await serveRoutes(t, (app) => {
    app.get('/dry', handler);
    app.post('/dry', handler);
    app.put('/dry', { config: { dryRun: true }, handler });
  });
  const send = (method: string, header: string) =>
    fetch(`${url}/dry`, { method, headers: { 'gatehouse-configuration': header } });
  const refused = await send('POST', 'file="a.yaml", dry-run');
  t.equal(refused.status, 400);
  t.match(await refused.json(), { error: { message: 'This request cannot be a dry run.' } });
  t.equal(runs, 0);
  for (const [method, header] of [
    ['GET', 'dry-run'],
    ['PUT', 'dry-run'],
    ['POST', 'file="dry-run"'],
  ] as const)
    t.equal((await send(method, header)).status, 200, `${method} ${header}`);
});

t.test('errors have the form of the path, and browsers can read them', async (t) => {
  const { url, lines } = await serveRoutes(t, things);
  for (const [i, version] of ['/v1', '/v2'].entries()) {
    for (const [label, status, path, options = {}, headers = {}] of REFUSED) {
      await t.test(`${version}: ${label}`, async (t) => {
        const response = await fetch(url + version + path, {
          ...options,
          headers: { ...ORIGIN, ...(options.headers as Record<string, string>) },
        });
        t.equal(response.status, status);
        const text = await response.text();
        t.match(response.headers.get('content-type'), /^application\/json/, text);
        const { error } = JSON.parse(text);
        t.equal(error.code, CODES[status]?.[i]);
        t.match(error.message, /^[A-Z].+\.$/);
        const expected = { 'access-control-allow-origin': '*', 'cache-control': 'no-store', ...headers };
        for (const [name, value] of Object.entries(expected))
          t.equal(response.headers.get(name), value, name);
        t.match(response.headers.get('access-control-expose-headers'), /\bX-Request-Id\b/);
        t.match(response.headers.get('x-request-id'), /^req_/);
      });
    }
  }
  t.strictSame(
    lines.filter(({ msg }) => msg === 'fault'),
    [],
    'nothing of it is our fault',
  );
});

t.test('accepted requests', async (t) => {
  const { url, lines } = await serveRoutes(t, things);
  const post = async (body?: string | Buffer, type = 'application/json') => {
    const headers = body === undefined ? {} : { 'content-type': type };
    const response = await fetch(`${url}/v2/things`, {
      method: 'POST',
      headers,
      ...(body !== undefined && { body }),
    });
    return { status: response.status, ...((await response.json()) as { body: unknown }) };
  };
  t.strictSame(await post('{"a":1}'), { status: 200, body: { a: 1 } });
  t.strictSame(await post('{"a":"ä😀"}', 'application/json; charset=utf-8'), {
    status: 200,
    body: { a: 'ä😀' },
  });
  t.strictSame(await post('{}', 'APPLICATION/JSON'), { status: 200, body: {} });
  t.strictSame(await post(''), { status: 200, body: 'none' });
  t.strictSame(await post(), { status: 200, body: 'none' });
  const largest = `"${'x'.repeat(BODY_LIMIT - 2)}"`;
  t.strictSame(await post(largest), { status: 200, body: largest.slice(1, -1) }, 'up to the limit');
  t.strictSame(
    await (await fetch(`${url}/v2/things/a%2Fb%20%C3%A4?x=%zz`)).json(),
    { id: 'a/b ä' },
    'parameters are decoded',
  );
  await until(() => lines.length === 7, 5000);
  t.match(lines.at(-1), { route: '/v2/things/:id', method: 'GET', status: 200 }, 'the log has the pattern');
});

t.test('requests without a route are rejected before the body is read', async (t) => {
  const { url } = await serveRoutes(t, things);
  const cases: [method: string, path: string, status: number][] = [
    ['POST', '/v2/nothing', 404],
    ['POST', '/v1/things/search/x', 404],
    ['PATCH', '/v2/things', 405],
    ['DELETE', '/v1/things/7', 405],
  ];
  for (const [method, path, status] of cases) {
    for (const body of ['{bad', 'x'.repeat(2 * BODY_LIMIT)]) {
      const response = await fetch(url + path, {
        method,
        body,
        headers: { 'content-type': 'application/json' },
      });
      t.equal(response.status, status, `${method} ${path}, ${body.length} bytes`);
      t.equal(response.headers.has('allow'), status === 405);
      await response.body?.cancel();
    }
  }
});

t.test('encoded bodies are rejected', async (t) => {
  const { url } = await serveRoutes(t, things);
  for (const [coding, status] of [
    ['gzip', 415],
    ['br', 415],
    ['gzip, identity', 415],
    ['identity', 200],
    [' Identity ', 200],
  ] as const) {
    const headers = { 'content-type': 'application/json', 'content-encoding': coding };
    const response = await fetch(`${url}/v2/things`, { method: 'POST', body: '{}', headers });
    t.equal(response.status, status, coding);
    await response.body?.cancel();
  }
});

t.test('a route can have its own error body', async (t) => {
  const { url } = await serveRoutes(t, (app) => {
    const fail = async () => {
      throw new ServiceError('conflict', 'Why.');
    };
    app.get('/v2/plain', { config: { errorBody: plainBody } }, fail);
    app.post('/v2/plain', { config: { errorBody: upperCaseCodeBody } }, fail);
    app.get('/v2/usual', fail);
  });
  const ask = async (path: string, options: RequestInit = {}) => (await fetch(url + path, options)).json();
  t.strictSame(await ask('/v2/plain'), { error: 'Why.' });
  t.strictSame(await ask('/v2/plain', { method: 'POST' }), { error: { code: 'CONFLICT', message: 'Why.' } });
  t.strictSame(await ask('/v2/usual'), { error: { code: 'conflict', message: 'Why.' } });
  const broken = { method: 'POST', body: '{', headers: JSON_BODY };
  t.match(
    await ask('/v2/plain', broken),
    { error: { code: 'INVALID_INPUT' } },
    'also of what Fastify refuses',
  );
  t.match(
    await ask('/v2/plain', { method: 'PUT' }),
    { error: { code: 'method_not_allowed' } },
    'no such route',
  );
});

t.test('HEAD is GET without the body', async (t) => {
  const { url } = await serveRoutes(t, things);
  for (const path of ['/v2/things/x', '/v2/nothing']) {
    const [get, head] = await Promise.all([fetch(url + path), fetch(url + path, { method: 'HEAD' })]);
    t.equal(head.status, get.status, path);
    for (const name of ['content-type', 'content-length', 'access-control-allow-origin']) {
      t.equal(head.headers.get(name), get.headers.get(name), name);
    }
    t.equal(await head.text(), '');
  }
});

t.test('preflight requests', async (t) => {
  const { url } = await serveRoutes(t, (app) => {
    app.addHook('onRequest', async () => {
      throw new ServiceError('unauthenticated', 'This needs a token.');
    });
    things(app);
  });
  for (const path of ['/v2/things', '/v2/things/x', '/v2/nothing']) {
    const response = await fetch(url + path, {
      method: 'OPTIONS',
      headers: {
        ...ORIGIN,
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization,content-type,if-match',
      },
    });
    t.equal(response.status, 204, `${path}: without a credential, which a preflight never has`);
    const headers = Object.entries(Object.fromEntries(response.headers));
    t.strictSame(
      Object.fromEntries(headers.filter(([name]) => name.startsWith('access-control-allow'))),
      {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers':
          'Authorization, DPoP, Content-Type, If-Match, If-None-Match, Idempotency-Key, X-Request-Id, traceparent',
      },
      'and never with cookies',
    );
    t.equal(response.headers.get('access-control-max-age'), '3600');
  }
});

t.test('OPTIONS requests that are not preflights', async (t) => {
  const { url } = await serveRoutes(t, things);
  for (const path of ['/v2/things', '/v2/nothing']) {
    const response = await fetch(url + path, { method: 'OPTIONS' });
    const type = response.headers.get('content-type') ?? '';
    t.ok(response.status === 204 || type.startsWith('application/json'), `${response.status} ${type}`);
  }
});
