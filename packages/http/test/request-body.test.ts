import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { checkAfterBody, hasBody, readBody } from '@gatehouse/http/request-body';
import { ServiceError } from '@gatehouse/kit/errors';
import t from 'tap';

/** What readBody() made of the last request: its text, or its error. */
let last = Promise.withResolvers<{ text: string; hasBody: boolean; error?: unknown }>();
let check: (() => Promise<void>) | undefined;
let before: ((incoming: IncomingMessage) => Promise<unknown>) | undefined;
const SECONDS = 0.2;

const server = createServer(async (incoming, response) => {
  await before?.(incoming);
  if (check !== undefined) checkAfterBody(incoming, check);
  const known = { hasBody: hasBody(incoming) };
  try {
    const body = await readBody(incoming, 10, SECONDS);
    last.resolve({ ...known, text: body.toString() });
    response.end();
  } catch (error) {
    last.resolve({ ...known, text: '', error });
    const { status, headers } = error as ServiceError;
    response.writeHead(status, headers).end();
  }
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
t.teardown(() => server.close());
const { port } = server.address() as { port: number };

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
  t.match(await send('POST', {}, 'abc', 'def'), { status: 200, text: 'abcdef', hasBody: true });
  t.match(await send('POST', { 'content-length': '10' }, '0123456789'), { status: 200, hasBody: true });
  t.match(await send('GET', {}), { status: 200, text: '', hasBody: false });
  t.match(await send('POST', { 'content-length': '0' }), { status: 200, text: '', hasBody: false });
  t.match(await send('DELETE', { 'transfer-encoding': 'chunked' }), { text: '', hasBody: true });
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
});
