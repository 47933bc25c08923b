import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { discardBody } from '@gatehouse/server/discard-body';
import t, { type Test } from 'tap';

const MIB = 1024 * 1024;
const LIMIT = 16 * MIB;

/** A server, and a connection to it on which this was sent; resolves with the request when its head is there. */
async function send(t: Test, sent: string): Promise<{ request: IncomingMessage; socket: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  t.teardown(() => {
    socket.destroy();
    server.close();
  });
  socket.write(sent);
  const [request] = await once(server, 'request');
  return { request, socket };
}

const head = (...headers: string[]) => `POST / HTTP/1.1\r\nhost: x\r\n${headers.join('\r\n')}\r\n\r\n`;
const sized = (size: number) => head(`content-length: ${size}`);
const CHUNKED = head('transfer-encoding: chunked');
const chunk = (size: number) => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;

const SENT: [label: string, sent: string][] = [
  ['no body', 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['an empty body', sized(0)],
  ['a body', `${sized(5)}hello`],
  ['several megabytes', sized(4 * MIB) + 'x'.repeat(4 * MIB)],
  ['several megabytes in chunks', `${CHUNKED}${chunk(MIB).repeat(4)}0\r\n\r\n`],
];

t.test('reads a body to its end', async (t) => {
  for (const [label, sent] of SENT) {
    const { request } = await send(t, sent);
    await discardBody(request);
    t.ok(request.readableEnded, label);
  }
});

t.test('a body that was read already is not waited for', async (t) => {
  const { request } = await send(t, `${sized(5)}hello`);
  await buffer(request);
  const begin = performance.now();
  await discardBody(request);
  t.ok(performance.now() - begin < 400);
});

t.test('a body whose reading was paused', async (t) => {
  const { request } = await send(t, `${sized(5)}hello`);
  request.pause();
  await discardBody(request);
  t.ok(request.readableEnded);
});

t.test('a body of which the beginning was read', async (t) => {
  const { request, socket } = await send(t, `${sized(10)}hello`);
  await once(request, 'data');
  const discarded = discardBody(request);
  socket.write('world');
  await discarded;
  t.ok(request.readableEnded);
});

t.test('gives up after 16 MiB', async (t) => {
  const announced = await send(t, `${sized(LIMIT + 1)}hello`);
  const begin = performance.now();
  await discardBody(announced.request);
  t.ok(performance.now() - begin < 400, 'at once, when that much is announced');

  const endless = await send(t, CHUNKED);
  let sent = 0;
  const more = () => {
    while (sent < 4 * LIMIT && !endless.socket.destroyed) {
      sent += MIB;
      if (!endless.socket.write(chunk(MIB))) return void endless.socket.once('drain', more);
    }
  };
  more();
  await discardBody(endless.request);
  t.notOk(endless.request.readableEnded, 'and when it comes in chunks');
  t.ok(sent > LIMIT && sent < 4 * LIMIT, `after ${sent / MIB} MiB`);
});

t.test('gives up on a client that sends no more', async (t) => {
  const { request } = await send(t, `${sized(10)}hello`);
  const begin = performance.now();
  await discardBody(request);
  const ms = performance.now() - begin;
  t.notOk(request.readableEnded);
  t.ok(ms > 400 && ms < 5000, `after ${ms} ms`);
});

t.test('a client that leaves in the middle of it, before or after', async (t) => {
  const leaving = await send(t, `${sized(10)}hello`);
  const begin = performance.now();
  const discarded = discardBody(leaving.request);
  leaving.socket.destroy();
  await discarded;

  const gone = await send(t, `${sized(10)}hello`);
  const closed = new Promise((resolve) => gone.request.once('close', resolve));
  gone.socket.destroy();
  await closed;
  await discardBody(gone.request);
  t.ok(performance.now() - begin < 450, 'is not waited for');
});
