import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { plainBody, upperCaseCodeBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { BODY_LIMIT } from '@gatehouse/api/http/json-body';
import { type AppOptions, createApp, handlerOf } from '@gatehouse/api/resource/app';
import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { createLogger } from '@gatehouse/core/logger';
import { run } from '@gatehouse/server/run';
import { until } from '@gatehouse/testing/processes';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';

type Line = Record<string, unknown>;

class DatabaseAway extends Error {}

/** Serves the app; paths below /v1 have the errors of profile A. */
async function serve(t: Test, addRoutes: (app: FastifyInstance) => void, options: Partial<AppOptions> = {}) {
  const lines: Line[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const logger = createLogger({ name: 'test', readable: false, destination });
  const app = createApp({
    logger,
    errorBodyFor: (path) => (path.startsWith('/v1/') ? upperCaseCodeBody : v2Body),
    translate: (error) => (error instanceof DatabaseAway ? unavailable('Away.', error) : undefined),
    ...options,
  });
  addRoutes(app);
  const service = {
    name: 'test',
    prefixes: [''],
    handle: handlerOf(app),
    start: async () => {},
    stop: () => app.close(),
    unready: async () => undefined,
  };
  const running = await run([service], {
    port: 0,
    host: '127.0.0.1',
    logger,
    trustedProxies: [],
    requireHttps: false,
    drainSeconds: 0,
  });
  t.teardown(() => running.stop());
  return { url: `http://127.0.0.1:${running.port}`, port: running.port, lines };
}

function things(app: FastifyInstance): void {
  for (const version of ['/v1', '/v2']) {
    app.get(`${version}/things`, async () => ({ data: [] }));
    app.post(`${version}/things`, async (request) => ({ body: request.body ?? 'none' }));
    app.get(`${version}/things/search`, async () => ({ data: [] }));
    app.get<{ Params: { id: string } }>(`${version}/things/:id`, async (request) => ({
      id: request.params.id,
    }));
    app.put(`${version}/things/:id`, async () => ({}));
  }
}

const ORIGIN = { origin: 'https://app.example' };
const JSON_BODY = { 'content-type': 'application/json' };

type Case = {
  label: string;
  path: string;
  options?: RequestInit;
  status: number;
  code: [v1: string, v2: string];
  headers?: Record<string, string>;
};

const REFUSED: Case[] = [
  { label: 'no such path', path: '/nothing', status: 404, code: ['NOT_FOUND', 'not_found'] },
  { label: 'a deeper path', path: '/things/a/b', status: 404, code: ['NOT_FOUND', 'not_found'] },
  { label: 'a slash at the end', path: '/things/x/', status: 404, code: ['NOT_FOUND', 'not_found'] },
  { label: 'another case', path: '/Things', status: 404, code: ['NOT_FOUND', 'not_found'] },
  ...['/things/', '//things', '/things//', '/thing%73', '/things/%78', '/things/a%2fb', '/things/a;b'].map(
    (path): Case => ({
      label: `another spelling, ${path}`,
      path,
      status: 404,
      code: ['NOT_FOUND', 'not_found'],
    }),
  ),
  {
    label: 'no such path, with a body',
    path: '/nothing',
    options: { method: 'POST', body: '{"a":1}', headers: JSON_BODY },
    status: 404,
    code: ['NOT_FOUND', 'not_found'],
  },
  {
    label: 'another method',
    path: '/things',
    options: { method: 'DELETE' },
    status: 405,
    code: ['METHOD_NOT_ALLOWED', 'method_not_allowed'],
    headers: { allow: 'GET, HEAD, POST' },
  },
  {
    label: 'another method, of a path with a parameter',
    path: '/things/x?a=b',
    options: { method: 'PATCH', body: '{}', headers: JSON_BODY },
    status: 405,
    code: ['METHOD_NOT_ALLOWED', 'method_not_allowed'],
    headers: { allow: 'GET, HEAD, PUT' },
  },
  {
    label: 'another method, where two routes fit',
    path: '/things/search',
    options: { method: 'DELETE' },
    status: 405,
    code: ['METHOD_NOT_ALLOWED', 'method_not_allowed'],
    headers: { allow: 'GET, HEAD, PUT' },
  },
  {
    label: 'a rare method',
    path: '/things',
    options: { method: 'PROPFIND' },
    status: 405,
    code: ['METHOD_NOT_ALLOWED', 'method_not_allowed'],
    headers: { allow: 'GET, HEAD, POST' },
  },
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'application/ld+json',
    'json',
    ';',
  ].map(
    (type): Case => ({
      label: `the type ${type}`,
      path: '/things',
      options: { method: 'POST', body: '{}', headers: { 'content-type': type } },
      status: 415,
      code: ['UNSUPPORTED_MEDIA_TYPE', 'unsupported_media_type'],
    }),
  ),
  {
    label: 'no type',
    path: '/things',
    options: { method: 'POST', body: Buffer.from('{}') },
    status: 415,
    code: ['UNSUPPORTED_MEDIA_TYPE', 'unsupported_media_type'],
  },
  ...['{', '{"a":1}}', '{"__proto__":{}}', '{"a":"\\u0000"}', '\u0000', ' '].map(
    (body): Case => ({
      label: `the body ${JSON.stringify(body)}`,
      path: '/things',
      options: { method: 'POST', body, headers: JSON_BODY },
      status: 400,
      code: ['INVALID_INPUT', 'invalid_parameter'],
    }),
  ),
  {
    label: 'a body that is not UTF-8',
    path: '/things',
    options: { method: 'POST', body: Buffer.from([0x22, 0xff, 0x22]), headers: JSON_BODY },
    status: 400,
    code: ['INVALID_INPUT', 'invalid_parameter'],
  },
  // It can be parsed, but not be stored or written again.
  ...['1', '"\\u0041"'].map(
    (inner): Case => ({
      label: `a body nested 100,000 deep, with ${inner}`,
      path: '/things',
      options: {
        method: 'POST',
        body: '['.repeat(100_000) + inner + ']'.repeat(100_000),
        headers: JSON_BODY,
      },
      status: 400,
      code: ['INVALID_INPUT', 'invalid_parameter'],
    }),
  ),
  {
    label: 'a body that is too large',
    path: '/things',
    options: { method: 'POST', body: ' '.repeat(BODY_LIMIT + 1), headers: JSON_BODY },
    status: 413,
    code: ['PAYLOAD_TOO_LARGE', 'payload_too_large'],
    headers: { connection: 'close' },
  },
  ...['/things/%', '/things/%zz', '/things/%ff', '/things/%c3%28'].map(
    (path): Case => ({ label: path, path, status: 400, code: ['INVALID_INPUT', 'invalid_parameter'] }),
  ),
];

t.test('errors have the form of the path, and browsers can read them', async (t) => {
  const { url, lines } = await serve(t, things);
  for (const [i, version] of ['/v1', '/v2'].entries()) {
    for (const { label, path, options = {}, status, code, headers = {} } of REFUSED) {
      await t.test(`${version}: ${label}`, async (t) => {
        const response = await fetch(url + version + path, {
          ...options,
          headers: { ...ORIGIN, ...(options.headers as Record<string, string>) },
        });
        t.equal(response.status, status);
        const text = await response.text();
        t.match(response.headers.get('content-type'), /^application\/json/, text);
        const { error } = JSON.parse(text);
        t.equal(error.code, code[i]);
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
  const { url, lines } = await serve(t, things);
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
  const { url } = await serve(t, things);
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
  const { url } = await serve(t, things);
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
  const { url } = await serve(t, (app) => {
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
  const { url } = await serve(t, things);
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
  const { url } = await serve(t, (app) => {
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
  const { url } = await serve(t, things);
  for (const path of ['/v2/things', '/v2/nothing']) {
    const response = await fetch(url + path, { method: 'OPTIONS' });
    const type = response.headers.get('content-type') ?? '';
    t.ok(response.status === 204 || type.startsWith('application/json'), `${response.status} ${type}`);
  }
});

const MEGABYTES = Buffer.alloc(10 * 1024 * 1024, ' ');

/** Sends it all, whether or not somebody reads; gives what comes back until the connection is closed. */
async function sendRaw(port: number, parts: Iterable<string | Buffer>): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  // That the server hangs up while we still send.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  Readable.from(parts).pipe(socket, { end: false });
  await closed;
  return received;
}

function* chunked(): Iterable<string | Buffer> {
  yield 'POST /v2/things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
  const piece = MEGABYTES.subarray(0, 64 * 1024);
  for (let sent = 0; sent < MEGABYTES.length; sent += piece.length) {
    yield Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')]);
  }
  yield '0\r\n\r\n';
}

const HEAD = 'POST /v2/things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length:';
const LARGE: [label: string, parts: () => Iterable<string | Buffer>][] = [
  ['with its length', () => [`${HEAD} ${MEGABYTES.length}\r\n\r\n`, MEGABYTES]],
  ['only announced', () => [`${HEAD} ${MEGABYTES.length}\r\n\r\n`]],
  ['announced as more than any', () => [`${HEAD} ${Number.MAX_SAFE_INTEGER}\r\n\r\n`, MEGABYTES]],
  ['in chunks', chunked],
];

t.test('10 MB', async (t) => {
  const { url, port, lines } = await serve(t, things);
  const ask = async (body: RequestInit['body']) => {
    const init = { method: 'POST', body, headers: JSON_BODY, duplex: 'half' };
    const response = await fetch(`${url}/v2/things`, init as RequestInit);
    return [response.status, ((await response.json()) as { error: { code: string } }).error.code];
  };
  const refused = [413, 'payload_too_large'];
  for (let round = 1; round <= 5; round += 1) {
    t.strictSame(await ask(MEGABYTES), refused, `by fetch, round ${round}`);
    t.strictSame(await ask(new Blob([MEGABYTES]).stream()), refused, `by fetch as a stream, round ${round}`);
  }
  for (let round = 1; round <= 5; round += 1) {
    const outgoing = request(`${url}/v2/things`, { method: 'POST', headers: JSON_BODY, agent: false });
    outgoing.end(MEGABYTES);
    const [[response]] = await Promise.all([once(outgoing, 'response'), once(outgoing, 'finish')]);
    t.equal(response.statusCode, 413, `by a client that sends it all before it reads, round ${round}`);
    response.resume();
  }
  for (const [label, parts] of LARGE) {
    const received = await sendRaw(port, parts());
    t.match(received, /^HTTP\/1\.1 413 [\s\S]+"code":"payload_too_large"/, label);
    t.match(received, /^connection: close\r$/im, label);
  }
  t.equal((await fetch(`${url}/v2/things`)).status, 200, 'the server works');
  t.notOk(lines.some(({ msg, level }) => msg === 'fault' || level === 'error'));
});

const hidden = () => new Error('hidden: dial db.internal');
const FAULTS: [label: string, thrown: unknown][] = [
  ['an error', hidden()],
  ['one with a status', Object.assign(hidden(), { statusCode: 404, status: 404 })],
  ['one with a code', Object.assign(hidden(), { code: 'ENOENT', statusCode: 400 })],
  ['one of the database, whose code is a number', Object.assign(hidden(), { code: 50 })],
  ['one with headers', Object.assign(hidden(), { headers: { 'x-hidden': '1' } })],
  ['a range error', new RangeError('hidden')],
  ['a text', 'hidden'],
  ['an object', { message: 'hidden', statusCode: 400 }],
  ['null', null],
  ['undefined', undefined],
];

t.test('internal errors are only logged', async (t) => {
  let thrown: unknown;
  const { url, lines } = await serve(t, (app) => {
    const fail = async () => {
      throw thrown;
    };
    app.get('/v2/fault', fail);
    app.post('/v2/fault', fail);
    app.get('/v2/circular', async () => {
      const value: Record<string, unknown> = { hidden: 1 };
      value.self = value;
      return value;
    });
  });
  const check = async (path: string, label: string, options: RequestInit = {}) => {
    lines.length = 0;
    const response = await fetch(url + path, {
      ...options,
      headers: { ...JSON_BODY, 'x-request-id': 'req-given' },
    });
    t.equal(response.status, 500, label);
    const message = 'Something went wrong on our side. Request id: req-given.';
    t.strictSame(await response.json(), { error: { code: 'server_error', message } }, label);
    t.notMatch(JSON.stringify([...response.headers]), 'hidden', label);
    await until(() => lines.length === 2, 5000);
    t.match(
      lines,
      [
        { level: 'error', msg: 'fault', req_id: 'req-given' },
        { level: 'error', msg: 'request', req_id: 'req-given', status: 500, route: path },
      ],
      label,
    );
  };
  for (const [label, value] of FAULTS) {
    thrown = value;
    await check('/v2/fault', label);
  }
  await check('/v2/circular', 'an answer that cannot be written');
  thrown = hidden();
  await check('/v2/fault', 'after a body was read', { method: 'POST', body: '{"a":1}' });
  await check('/v2/fault', 'once more');
  t.match(lines[0], { err: { message: 'hidden: dial db.internal', stack: /app\.test\.ts/ } });
});

t.test('a closed connection is not an internal error', async (t) => {
  const reached = Promise.withResolvers<() => void>();
  const { port, lines } = await serve(t, (app) => {
    app.post('/v2/slow', async () => {
      await new Promise<void>((resolve) => reached.resolve(resolve));
      throw hidden();
    });
  });
  const socket = connect(port, '127.0.0.1');
  socket.write('POST /v2/slow HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n');
  socket.write('content-type: application/json\r\n\r\n{}');
  const fail = await reached.promise;
  socket.destroy();
  await until(() => lines.length > 0, 5000);
  fail();
  await until(async () => (await fetch(`http://127.0.0.1:${port}/v2/nothing`)).status === 404, 5000);
  await until(() => lines.length === 2, 5000);
  t.match(lines, [{ msg: 'request', route: '/v2/slow', status: 499 }, { status: 404 }]);
});

t.test('errors for the caller', async (t) => {
  const seen: unknown[] = [];
  const away = new DatabaseAway('hidden');
  const forbidden = new ServiceError('forbidden', 'Not yours.', { cause: new Error('hidden') });
  const invalid = new ServiceError('invalid', 'a is bad.', { details: [{ field: 'a', message: 'is bad' }] });
  const challenge = { 'www-authenticate': 'Bearer realm="gatehouse"' };
  const unauthenticated = new ServiceError('unauthenticated', 'This needs a token.', { headers: challenge });
  const translate = (error: unknown) => {
    seen.push(error);
    return error instanceof DatabaseAway ? unavailable('Away.', error, 7) : undefined;
  };
  const { url } = await serve(
    t,
    (app) => {
      for (const [path, error] of Object.entries({ away, forbidden, invalid, unauthenticated })) {
        app.get(`/v1/${path}`, () => Promise.reject(error));
        app.get(`/v2/${path}`, () => Promise.reject(error));
      }
    },
    { translate },
  );
  const ask = async (path: string) => {
    const response = await fetch(url + path);
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.json(),
    };
  };
  t.match(await ask('/v2/away'), {
    status: 503,
    headers: { 'retry-after': '7' },
    body: { error: { code: 'unavailable', message: 'Away.' } },
  });
  t.strictSame(seen, [away], 'what is no ServiceError is translated');
  t.match(await ask('/v1/forbidden'), {
    status: 403,
    body: { error: { code: 'FORBIDDEN', message: 'Not yours.' } },
  });
  t.match(await ask('/v2/unauthenticated'), {
    status: 401,
    headers: challenge,
    body: { error: { code: 'unauthorized' } },
  });
  t.strictSame((await ask('/v2/invalid')).body, {
    error: { code: 'invalid_parameter', message: 'a is bad.', details: [{ field: 'a', message: 'is bad' }] },
  });
  t.strictSame((await ask('/v1/invalid')).body, { error: { code: 'INVALID_INPUT', message: 'a is bad.' } });
  t.equal(seen.length, 1, 'a ServiceError is not');
});

t.test('requests wait until the plugins are loaded', async (t) => {
  const loading = Promise.withResolvers<void>();
  const { url } = await serve(t, (app) => {
    app.register(async (inner) => {
      await loading.promise;
      inner.get('/v2/late', async () => ({ late: true }));
    });
  });
  const asked = fetch(`${url}/v2/late`);
  t.equal((await fetch(`${url}/health/live`)).status, 200);
  loading.resolve();
  t.strictSame(await (await asked).json(), { late: true });
});
