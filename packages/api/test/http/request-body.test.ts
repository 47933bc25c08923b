import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { checkAfterBody, readBody } from '@gatehouse/api/http/request-body';
import { ServiceError } from '@gatehouse/core/errors';
import { listen } from '@gatehouse/testing/listen';
import t from 'tap';

/** What readBody() made of the last request: its text, or its error. */
let last = Promise.withResolvers<{ text: string; error?: unknown }>();
let check: (() => Promise<void>) | undefined;
let before: ((incoming: IncomingMessage) => Promise<unknown>) | undefined;
const SECONDS = 0.2;
let limits = { bytes: 10, seconds: SECONDS };

const server = createServer(async (incoming, response) => {
  await before?.(incoming);
  if (check !== undefined) checkAfterBody(incoming, check);
  try {
    const body = await readBody(incoming, limits.bytes, limits.seconds);
    last.resolve({ text: body.toString() });
    response.end();
  } catch (error) {
    last.resolve({ text: '', error });
    const { status, headers } = error as ServiceError;
    response.writeHead(status, headers).end();
  }
});
const port = await listen(t, server);

async function send(method: string, headers: Record<string, string>, ...chunks: string[]) {
  last = Promise.withResolvers();
  const outgoing = request({ port, method, headers, agent: false });
  for (const chunk of chunks) outgoing.write(chunk);
  outgoing.end();
  const [response] = await once(outgoing, 'response');
  response.resume();
  return { status: response.statusCode, connection: response.headers.connection, ...(await last.promise) };
}

t.test('a body is read up to the limit, and as it is', async (t) => {
  t.match(await send('POST', {}, 'abc', 'def'), { status: 200, text: 'abcdef' });
  t.match(await send('POST', { 'content-length': '10' }, '0123456789'), { status: 200 });
  t.match(await send('GET', {}), { status: 200, text: '' });
  t.match(await send('POST', { 'content-length': '0' }), { status: 200, text: '' });
  t.match(await send('DELETE', { 'transfer-encoding': 'chunked' }), { text: '' });
  const tooLarge = { status: 413, error: { kind: 'too_large' }, connection: 'close' };
  t.match(await send('POST', {}, '0123456789', 'a'), tooLarge);
  t.match(await send('POST', { 'content-length': '11' }, '0123456789a'), tooLarge, 'as it is announced');
  t.match(await send('POST', { 'content-encoding': 'gzip' }, 'abc'), {
    status: 415,
    error: { kind: 'unsupported_media_type', headers: { 'accept-encoding': 'identity' } },
  });
  t.match(await send('POST', { 'content-encoding': 'Identity' }, 'abc'), { status: 200 });
});

t.test('a body has a time in which it must arrive, however many bytes come', async (t) => {
  last = Promise.withResolvers();
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n');
  const trickle = setInterval(() => socket.write('a'), 50);
  t.teardown(() => clearInterval(trickle));
  const begin = performance.now();
  const [received] = await once(socket, 'data');
  clearInterval(trickle);
  t.match(String(received), /^HTTP\/1\.1 408 [\s\S]*connection: close/i);
  t.match(await last.promise, {
    error: { kind: 'timeout', message: 'The body did not arrive within 0.2 s.' },
  });
  const ms = performance.now() - begin;
  t.ok(ms >= 190 && ms < 1000, `${ms} ms`);
  await once(socket, 'close');
});

t.test('a client that gives up', async (t) => {
  last = Promise.withResolvers();
  const socket = connect(port, '127.0.0.1');
  const request = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc';
  socket.end(request, () => socket.destroy());
  t.match(await last.promise, { error: { kind: 'invalid' } });

  last = Promise.withResolvers();
  before = (incoming) => new Promise((resolve) => incoming.once('close', resolve));
  const other = connect(port, '127.0.0.1');
  other.end(request, () => other.destroy());
  t.match(await last.promise, { error: { kind: 'invalid' } }, 'before anything is read');
  before = undefined;
});

t.test('a check runs after the body, and only then', async (t) => {
  check = () => Promise.reject(new ServiceError('forbidden', 'Not any more.'));
  t.match(await send('POST', {}, 'abc'), { status: 403, error: { message: 'Not any more.' } });
  t.match(await send('POST', {}, '0123456789a'), { status: 413 }, 'what is refused anyway is');
  let count = 0;
  check = async () => {
    count += 1;
  };
  t.match(await send('POST', {}, 'abc'), { status: 200, text: 'abc' });
  t.equal(count, 1);
  check = undefined;
});

t.test('a body in chunks of one byte costs little more memory than its bytes', async (t) => {
  const bytes = 200_000;
  limits = { bytes, seconds: 30 };
  t.teardown(() => {
    limits = { bytes: 10, seconds: SECONDS };
  });
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const heapUsed = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  last = Promise.withResolvers();
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const [received] = await once(server, 'connection');
  const heapBefore = heapUsed();
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
  socket.write('1\r\na\r\n'.repeat(bytes));
  while (received.bytesRead < socket.bytesWritten) await sleep(50);
  const growth = (heapUsed() - heapBefore) / 1e6;
  t.ok(growth < 10, `${growth} MB`);
  socket.write('0\r\n\r\n');
  t.equal((await last.promise).text, 'a'.repeat(bytes));
});

t.test('a caller has bodies of 32 MB on the way, however many there are; others have theirs', async (t) => {
  const bytes = 8_000_000;
  limits = { bytes, seconds: 30 };
  t.teardown(() => {
    limits = { bytes: 10, seconds: SECONDS };
  });
  /** Sends a body but for its last byte; resolves when it has been received, or answered. */
  async function begin(localAddress = '127.0.0.1'): Promise<{ socket: Socket; response: string }> {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    t.teardown(() => socket.destroy());
    let reply = '';
    socket.on('data', (chunk) => (reply += chunk)).on('error', () => {});
    const [received] = await once(server, 'connection');
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`);
    socket.write(Buffer.alloc(bytes - 1, 'a'));
    while (reply === '' && received.bytesRead < socket.bytesWritten) await sleep(10);
    return { socket, response: reply };
  }
  const held = [];
  for (let i = 0; i < 4; i += 1) held.push(await begin());
  t.strictSame(
    held.map(({ response: reply }) => reply),
    ['', '', '', ''],
  );
  const refused = await begin();
  t.match(refused.response, /^HTTP\/1\.1 429 [\s\S]*connection: close/i);
  t.match(refused.response, /retry-after: 1\r\n/i);
  t.equal((await begin('127.0.0.2')).response, '', 'another caller');
  last = Promise.withResolvers();
  held[0]?.socket.write('a');
  t.equal((await last.promise).text.length, bytes, 'what is on the way arrives');
  t.equal((await begin()).response, '', 'and makes room');
});
