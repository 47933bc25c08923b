import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { VERSION } from '@gatehouse/core/version';
import { requestInfo } from '@gatehouse/server/requests';
import { service } from '@gatehouse/testing/run-services';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { holding, open, respond, serve, until } from './serve.ts';

t.test('requests go to the service with the longest prefix, by whole segments', async (t) => {
  const { url } = await serve(t, [
    service('wide', { prefixes: ['/v1'] }),
    service('users', { prefixes: ['/v1/users', '/people'] }),
    service('deep', { prefixes: ['/v1/users/search'] }),
  ]);
  const asked = async (path: string) => (await fetch(url + path)).text();
  t.equal(await asked('/v1'), 'wide /v1');
  t.equal(await asked('/v1/usersearch'), 'wide /v1/usersearch');
  t.equal(await asked('/v1/users'), 'users /v1/users');
  t.equal(await asked('/v1/users?a=/v1/users/search'), 'users /v1/users?a=/v1/users/search');
  t.equal(await asked('/v1/users/x'), 'users /v1/users/x');
  t.equal(await asked('/v1/users/search/x'), 'deep /v1/users/search/x');
  t.equal(await asked('/v1/users/searching'), 'users /v1/users/searching');
  t.equal(await asked('/people/x'), 'users /people/x');
});

t.test('unknown paths are 404 in JSON', async (t) => {
  const { url } = await serve(t, [service('a')]);
  for (const path of ['/', '/ab', '/A', '/x/a', '/health', '/health/live/x', '/%61']) {
    const response = await fetch(url + path, { method: 'POST', body: 'x' });
    t.equal(response.status, 404, path);
    t.match(response.headers.get('content-type'), /^application\/json/);
    t.equal(response.headers.get('cache-control'), 'no-store');
    t.strictSame(await response.json(), { error: { code: 'not_found', message: 'There is nothing here.' } });
  }
});

t.test('the request id', async (t) => {
  const { url, lines } = await serve(t, [
    service('a', { handle: (request, response) => void response.end(requestInfo(request).id) }),
  ]);
  const GIVEN: [id: string, kept: boolean][] = [
    ['abc-123', true],
    ['a.b:c_d', true],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['', false],
    ['a b', false],
    ['a"b', false],
    ['<script>', false],
    ['ü', false],
  ];
  for (const [given, kept] of GIVEN) {
    const response = await fetch(`${url}/a`, { headers: { 'x-request-id': given } });
    const id = response.headers.get('x-request-id');
    if (kept) t.equal(id, given);
    else t.match(id, /^req_[0-9a-z]{26}$/, `"${given}" is replaced`);
    t.equal(await response.text(), id, 'the service sees the same');
    t.ok(await until(() => lines.some((line) => line.req_id === id)), 'and so does the log');
  }
  const missing = await fetch(`${url}/nowhere`);
  t.match(missing.headers.get('x-request-id'), /^req_/);
  const twice = await respond(
    await open(
      t,
      Number(new URL(url).port),
      'GET /a HTTP/1.1\r\nhost: x\r\nx-request-id: a\r\nx-request-id: b\r\nconnection: close\r\n\r\n',
    ),
  );
  t.match(twice.head, /x-request-id: req_/);
});

t.test('health', async (t) => {
  let reason: string | undefined | Error;
  const unready = async () => {
    if (reason instanceof Error) throw reason;
    return reason;
  };
  const { url } = await serve(t, [service('a'), service('b', { unready })]);
  const health = async (path: string) => {
    const response = await fetch(`${url}/health/${path}`);
    return { status: response.status, body: await response.json() };
  };
  const ready = { status: 200, body: { status: 'ready', version: VERSION, services: { a: 'ok', b: 'ok' } } };
  const notReady = (b: string) => ({
    status: 503,
    body: { status: 'unavailable', version: VERSION, services: { a: 'ok', b } },
  });
  t.strictSame(await health('ready'), ready);
  reason = 'its database cannot be reached';
  t.strictSame(await health('ready'), notReady('its database cannot be reached'));
  reason = new Error('a secret');
  t.strictSame(await health('ready'), notReady('its check failed'));
  t.strictSame(await health('live'), { status: 200, body: { status: 'ok' } }, 'live all the same');
  reason = undefined;
  t.strictSame(await health('ready'), ready, 'and ready again');
});

t.test('HTTPS', async (t) => {
  const options = { requireHttps: true, trustedProxies: ['127.0.0.1'] };
  const { url, lines } = await serve(t, [service('a')], options);
  const from = (proto?: string) => ({
    headers: { 'x-forwarded-for': '203.0.113.9', ...(proto && { 'x-forwarded-proto': proto }) },
  });

  const plain = await fetch(`${url}/a`, from('http'));
  t.equal(plain.status, 403);
  t.match(await plain.json(), { error: { code: 'https_required', message: String } });
  t.equal(plain.headers.get('strict-transport-security'), null);
  t.equal((await fetch(`${url}/a`, from())).status, 403, 'not said to be HTTPS');
  t.equal((await fetch(`${url}/nowhere`, from('http'))).status, 403, 'before it is 404');

  const secure = await fetch(`${url}/a`, from('https'));
  t.equal(secure.status, 200);
  t.equal(secure.headers.get('strict-transport-security'), 'max-age=31536000');
  t.equal((await fetch(`${url}/a`)).status, 200, 'another service that calls directly');
  t.equal((await fetch(`${url}/health/live`, from('http'))).status, 200, 'health is exempt');
  t.equal((await fetch(`${url}/health/ready`, from('http'))).status, 200);
  await until(() => lines.length === 7);
  t.equal(lines[0]?.address, '203.0.113.9', 'the log has the address of the caller');

  const untrusting = await serve(t, [service('a')], { requireHttps: true });
  t.equal(
    (await fetch(`${untrusting.url}/a`, from('https'))).status,
    403,
    'a stranger may say what it wants',
  );
  const notRequired = await serve(t, [service('a')]);
  const response = await fetch(`${notRequired.url}/a`);
  t.equal(
    response.headers.get('strict-transport-security'),
    null,
    'nothing of it where HTTPS is not required',
  );
});

t.test('IPv4 that arrives on an IPv6 socket', async (t) => {
  const { logger, lines } = recordingLogger();
  const served = await serve(t, [service('a')], { host: '::', logger }).catch((error) => {
    if (error.code === 'EAFNOSUPPORT' || error.code === 'EADDRNOTAVAIL') return undefined;
    throw error;
  });
  if (served === undefined) return void t.pass('mapped', { skip: 'this machine has no IPv6' });
  await fetch(`${served.url}/a`);
  t.match(await until(() => lines[0]), { address: '127.0.0.1' });
});

const MALFORMED: [label: string, sent: string, status: number][] = [
  ['not HTTP', 'hello\r\n\r\n', 400],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['an unknown method', 'BREW /a HTTP/1.1\r\nhost: x\r\n\r\n', 400],
  ['no host', 'GET /a HTTP/1.1\r\n\r\n', 400],
  ['two hosts', 'GET /a HTTP/1.1\r\nhost: x\r\nHost: x\r\n\r\n', 400],
  ['two hosts in HTTP/1.0', 'GET /a HTTP/1.0\r\nhost: x\r\nhost:\r\n\r\n', 400],
  [
    'two credentials',
    'GET /a HTTP/1.1\r\nhost: x\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n',
    400,
  ],
  ['a header without a colon', 'GET /a HTTP/1.1\r\nhost: x\r\nbad\r\n\r\n', 400],
  ['two lengths', 'POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
  [
    'a length and chunks',
    'POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
  ],
  ['large headers', `GET /a HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ['a large URL', `GET /a?${'x'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 431],
];

t.test('invalid HTTP gets a response in JSON', async (t) => {
  const { running, url } = await serve(t, [service('a')]);
  for (const [label, sent, status] of MALFORMED) {
    const { head, body } = await respond(await open(t, running.port, sent));
    t.match(head, new RegExp(`^HTTP/1\\.1 ${status} [A-Z].+\r\n`), label);
    t.match(head, /^content-type: application\/json/im, label);
    t.match(head, /^connection: close$/im, label);
    t.match(head, /^x-content-type-options: nosniff$/im, label);
    t.match(body, /^\{"error":\{"code":"invalid_parameter","message":"[^"]+"\}\}$/, label);
  }
  t.equal((await fetch(`${url}/a`)).status, 200, 'and the server goes on');
});

t.test('no answer is to be taken for another type than it says', async (t) => {
  const { running, url } = await serve(t, [service('a')]);
  for (const path of ['/', '/a', '/nothing', '/health/live', '/health/ready'])
    for (const accept of ['application/json', 'text/html']) {
      const { headers } = await fetch(url + path, { headers: { accept } });
      t.equal(headers.get('x-content-type-options'), 'nosniff', `${path} ${accept}`);
    }
  const { running: secured } = await serve(t, [service('a')], { requireHttps: true });
  for (const [port, sent] of [
    [running.port, 'close\r\nexpect: something'],
    [running.port, 'close\r\nexpect: 100-continue'],
    [running.port, 'close, upgrade\r\nupgrade: websocket'],
    [secured.port, 'close'],
  ] as const) {
    const socket = await open(t, port, `GET /a HTTP/1.1\r\nhost: x\r\nconnection: ${sent}\r\n\r\n`);
    t.match(String(await buffer(socket)), /^x-content-type-options: nosniff\r$/im, sent);
  }
});

const ABSOLUTE: [target: string, status: number, body: string, route: string][] = [
  ['http://x/a?b=c', 200, 'a /a?b=c', '/a'],
  ['HTTPS://x.example:8443/a/b', 200, 'a /a/b', '/a/b'],
  ['http://user:hidden@x/a', 200, 'a /a', '/a'],
  ['http://x//a', 404, 'not_found', '//a'],
  ['http://x', 404, 'not_found', '/'],
  ['http://x?b=/a', 404, 'not_found', '/'],
];

t.test('the absolute form of a URL (RFC 9112 §3.2.2)', async (t) => {
  const { running, lines } = await serve(t, [service('a')]);
  for (const [target, status, expected, route] of ABSOLUTE) {
    lines.length = 0;
    const sent = `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
    const { head, body } = await respond(await open(t, running.port, sent));
    t.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), target);
    t.match(body, expected, target);
    t.match(await until(() => lines[0]), { route, status });
    t.notMatch(JSON.stringify(lines), 'hidden');
  }
});

t.test('OPTIONS * is of no service', async (t) => {
  const { running } = await serve(t, [service('a', { prefixes: [''] })]);
  const sent = 'OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
  t.match((await respond(await open(t, running.port, sent))).head, /^HTTP\/1\.1 404 /);
});

t.test('a caller who leaves in the middle of a request hurts nobody', async (t) => {
  const { running, url, lines } = await serve(t, [service('a')]);
  const socket = await open(t, running.port, 'POST /a HTTP/1.1\r\nhost: x\r\ncontent-le');
  socket.resetAndDestroy();
  await once(socket, 'close');
  t.equal((await fetch(`${url}/a`)).status, 200);
  await until(() => lines.length === 1);
});

t.test('the log holds the beginning of a long path only, and of a route', async (t) => {
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    requestInfo(request).route = request.url;
    response.end();
  };
  const { url, lines } = await serve(t, [service('a', { handle })]);
  for (const path of [`/a/${'x'.repeat(5000)}`, `/nowhere/${'x'.repeat(5000)}`]) {
    lines.length = 0;
    await (await fetch(url + path)).text();
    t.equal((await until(() => lines[0])).route, path.slice(0, 256));
  }
});

t.test('one log line for each request', async (t) => {
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const info = requestInfo(request);
    if (request.url?.startsWith('/a/known')) {
      info.route = '/a/:id';
      info.client = 'cli_1';
      info.subject = 'usr_1';
    }
    response.writeHead(request.url?.includes('broken') ? 500 : 201).end();
  };
  const { url, lines } = await serve(t, [service('a', { handle })]);
  const lineOf = async (path: string, options: RequestInit = {}) => {
    lines.length = 0;
    await fetch(url + path, options);
    return await until(() => lines[0]);
  };
  const known = await lineOf('/a/known?q=hidden', { method: 'POST', headers: { 'x-request-id': 'given' } });
  t.match(known, {
    level: 'info',
    msg: 'request',
    req_id: 'given',
    method: 'POST',
    route: '/a/:id',
    status: 201,
    client: 'cli_1',
    subject: 'usr_1',
    address: '127.0.0.1',
  });
  t.ok(typeof known.ms === 'number' && known.ms >= 0 && known.ms < 5000);
  const unknown = await lineOf('/nowhere/x?q=hidden#hash');
  t.match(unknown, { level: 'info', route: '/nowhere/x', status: 404, method: 'GET' });
  t.notOk('client' in unknown || 'subject' in unknown);
  const broken = await lineOf('/a/broken?q=hidden');
  t.match(broken, { level: 'error', route: '/a/broken', status: 500 });
  const health = await lineOf('/health/live?q=hidden');
  t.match(health, { level: 'debug', route: '/health/live', status: 200 });
  t.notMatch(JSON.stringify([known, unknown, broken, health]), 'hidden', 'never the query');
  t.equal(lines.length, 1);
});

t.test('a caller who goes away before the answer is logged as 499', async (t) => {
  const a = holding('a');
  const { running, lines } = await serve(t, [a]);
  const socket = await open(t, running.port, 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n');
  const { response } = await a.next();
  response.write('the first part');
  socket.destroy();
  t.match(await until(() => lines[0]), { status: 499, route: '/a', level: 'info' });
});

t.test('a stream of events is logged with the time until it began, however it ends', async (t) => {
  const a = holding('a');
  const { running, lines } = await serve(t, [a]);
  const socket = await open(t, running.port, 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n');
  const { request, response } = await a.next();
  requestInfo(request).streamingSince = performance.now();
  response.write('an event');
  await sleep(300);
  socket.destroy();
  const line = await until(() => lines[0]);
  t.match(line, { status: 200, route: '/a', level: 'info' });
  t.ok(Number(line?.ms) < 300, `${line?.ms} ms`);
});

t.test(
  'an unknown address is a page for a browser, except where programs ask, in whichever process',
  async (t) => {
    const { url } = await serve(t, [service('a')]);
    const ask = (path: string) => fetch(url + path, { headers: { accept: 'text/html' } });
    const page = await ask('/nowhere');
    t.equal(page.status, 404);
    t.match(await page.text(), '<a class="card" href="/docs">');
    t.match((await ask('/v1/nothing')).headers.get('content-type'), 'application/json');
  },
);
