import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { DatabaseAway, serveRoutes, things } from './serve-app.ts';

const JSON_BODY = { 'content-type': 'application/json' };
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
  const { url, port, lines } = await serveRoutes(t, things);
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
  const { url, lines } = await serveRoutes(t, (app) => {
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
  t.match(lines[0], { err: { message: 'hidden: dial db.internal', stack: /app-faults\.test\.ts/ } });
});

t.test('a closed connection is not an internal error', async (t) => {
  const reached = Promise.withResolvers<() => void>();
  const { port, lines } = await serveRoutes(t, (app) => {
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
  const { url } = await serveRoutes(
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
  const { url } = await serveRoutes(t, (app) => {
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
