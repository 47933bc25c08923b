import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { runServices, service } from '@gatehouse/testing/run-services';
import t from 'tap';

const BYTES = 10_000_000;
const MEDIUM = 100_000;
const text = 'x'.repeat(BYTES);
const a = service('a', {
  handle(request, response) {
    if (request.url === '/a/small') response.end('small');
    else if (request.url === '/a/medium') setTimeout(() => response.end(text.slice(0, MEDIUM)), 1);
    // As text, of which every response has a copy of its own.
    else response.setHeader('content-length', BYTES).end(text);
  },
});
const { port } = await runServices(t, [a], { trustedProxies: ['127.0.0.1'] });

/** Asks for a response of 10 MB, and does not read it. */
async function ask(address: string, path = '/a/large'): Promise<IncomingMessage> {
  const headers = { 'x-forwarded-for': address };
  const request = get({ port, host: '127.0.0.1', path, agent: false, headers });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => {});
  t.teardown(() => response.destroy());
  return response;
}

/** How many bytes can be read of it, in the end. */
async function read(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  try {
    for await (const chunk of response) bytes += chunk.length;
  } catch {}
  return bytes;
}

t.test('the latest unread responses of a caller are kept', async (t) => {
  const unread: IncomingMessage[] = [];
  for (let i = 0; i < 20; i += 1) unread.push(await ask('192.0.2.1'));
  const reading = await ask('192.0.2.2');
  t.equal(await read(reading), BYTES, 'another caller is not concerned');
  const sizes = await Promise.all(unread.map(read));
  const whole = sizes.map((size) => size === BYTES);
  t.same(whole.slice(0, 15), Array(15).fill(false), 'the first are closed');
  t.same(whole.slice(-2), [true, true], 'the last are whole');
});

t.test('responses that wait behind others of their connection are counted, too', async (t) => {
  const connections = Array.from({ length: 10 }, () => connect(port, '127.0.0.1').pause());
  t.teardown(() => connections.map((socket) => socket.destroy()));
  const request = 'GET /a/medium HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 192.0.2.4\r\n\r\n';
  for (const socket of connections) {
    socket.on('error', () => {}).write(request.repeat(200));
    await sleep(100);
  }
  const sizes = await Promise.all(
    connections.map(async (socket) => {
      let bytes = 0;
      socket.on('data', (chunk) => {
        bytes += chunk.length;
      });
      await Promise.race([once(socket.resume(), 'close'), sleep(3000)]);
      return bytes;
    }),
  );
  const whole = sizes.filter((size) => size > 200 * MEDIUM).length;
  t.ok(whole > 0 && whole < 4, `${whole} are whole`);
  t.equal(await read(await ask('192.0.2.5', '/a/small')), 5);
});

t.test('in all, so much waits for callers that do not read', async (t) => {
  const before = process.memoryUsage().rss;
  const unread: IncomingMessage[] = [];
  for (let i = 0; i < 100; i += 1) unread.push(await ask(`198.51.100.${i}`));
  await sleep(100);
  const growth = (process.memoryUsage().rss - before) / 1e6;
  t.ok(growth < 500, `${growth.toFixed(0)} MB, in one process with the clients`);
  t.equal(await read(await ask('192.0.2.3')), BYTES, 'who reads is not concerned');
  t.equal(await read(await ask('192.0.2.3', '/a/small')), 5);
  const sizes = await Promise.all(unread.map(read));
  const whole = sizes.filter((size) => size === BYTES).length;
  t.ok(whole > 0 && whole < 20, `${whole} are whole`);
});
