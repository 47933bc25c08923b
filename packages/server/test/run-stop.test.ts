import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { buffer, text as textOf } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { VERSION } from '@gatehouse/core/version';
import { service } from '@gatehouse/testing/run-services';
import t from 'tap';
import { holding, open, respond, serve, until } from './serve.ts';

/** Whether it settles in a time that is short beside those that the server waits by itself. */
async function isSoon(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([promise.then(() => true), sleep(1500, false, { ref: false })]);
}

t.test('a port that is taken', async (t) => {
  const { running } = await serve(t, [service('a')]);
  let started = false;
  const other = service('b', {
    start: async () => {
      started = true;
    },
  });
  await t.rejects(serve(t, [other], { port: running.port }), { code: 'EADDRINUSE' });
  t.notOk(started);
});

t.test('a service that never can start', async (t) => {
  const failing = service('b', { start: () => Promise.reject(new Error('never')) });
  const { running, url } = await serve(t, [service('a'), failing]);
  t.equal(await (await fetch(`${url}/a`)).text(), 'a /a', 'the others are served');
  await t.rejects(running.started, new Error('never'));
});

t.test('services start one after the other, and what has not begun is not stopped', async (t) => {
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const recording = (name: string, start: () => Promise<void> = async () => {}) =>
    service(name, {
      start: async () => {
        order.push(`${name} begins`);
        await start();
        order.push(`${name} has started`);
      },
      stop: async () => void order.push(`${name} stops`),
    });
  const { running } = await serve(t, [recording('a'), recording('b', () => gate.promise), recording('c')]);
  await until(() => order.includes('b begins'));
  t.strictSame(order, ['a begins', 'a has started', 'b begins']);
  const stopped = running.stop();
  gate.resolve();
  await stopped;
  await t.rejects(running.started, { message: 'stopped before c was started' });
  t.strictSame(order.slice(3), ['b has started', 'b stops', 'a stops']);
});

t.test('serves while a service is still starting, and stops it even then', async (t) => {
  const start = Promise.withResolvers<void>();
  const waiting = service('a', { start: () => start.promise, stop: async () => start.resolve() });
  const { running, url } = await serve(t, [waiting]);
  t.equal(await (await fetch(`${url}/a`)).text(), 'a /a');
  let started = false;
  running.started.then(() => {
    started = true;
  });
  t.notOk(started);
  await running.stop();
  await running.started;
});

t.test('stop', async (t) => {
  const order: string[] = [];
  const stop = (name: string) => async () => void order.push(name);
  const a = holding('a', { stop: stop('a') });
  const b = service('b', { stop: stop('b') });
  const { running, url } = await serve(t, [a, b], { drainSeconds: 60 });
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const request = get(`${url}/a`, { agent });
  const { response } = await a.next();
  const stopped = running.stop();
  t.equal(running.stop(), stopped, 'a second call is the same');
  await until(() => running.port === 0);
  await t.rejects(fetch(`${url}/b`), { cause: { code: 'ECONNREFUSED' } }, 'nobody new is let in');
  t.strictSame(order, [], 'no service is stopped while a request is in flight');
  response.end('the answer');
  const [received] = await once(request, 'response');
  t.equal(received.headers.connection, 'close', 'its client is told that the connection ends');
  t.equal(await textOf(received), 'the answer', 'whose answer arrives');
  // A connection that is kept alive lives 5 s longer by itself.
  t.ok(await isSoon(stopped), 'and then nothing holds it up');
  t.strictSame(order, ['b', 'a'], 'the services are stopped in reverse order');
  agent.destroy();
  await stopped;
});

t.test('stop tells load balancers first, and serves until its delay has passed', async (t) => {
  const stopped: string[] = [];
  const a = service('a', { stop: async () => void stopped.push('a') });
  const { running, url } = await serve(t, [a], { shutdownDelaySeconds: 1 });
  await running.started;
  const begin = performance.now();
  const stop = running.stop();
  t.equal(running.stopping, true);
  for (let left = 400; left > 0; left = 400 - (performance.now() - begin)) {
    const ready = await fetch(`${url}/health/ready`);
    t.equal(ready.status, 503);
    t.match(await ready.json(), { status: 'stopping' });
    const response = await fetch(`${url}/a`, { headers: { connection: 'close' } });
    t.equal(await response.text(), 'a /a', 'on a new connection, too');
    await sleep(20);
  }
  t.strictSame(stopped, []);
  await stop;
  t.ok(performance.now() - begin >= 999, 'not before its time');
  t.strictSame(stopped, ['a']);
  await t.rejects(fetch(`${url}/a`), { cause: { code: 'ECONNREFUSED' } });
});

t.test('services that have not started have no usage to send', async (t) => {
  const start = Promise.withResolvers<void>();
  const waiting = service('a', { start: () => start.promise, stop: async () => start.resolve() });
  const { running } = await serve(t, [waiting], { shutdownDelaySeconds: 60 });
  t.ok(await isSoon(running.stop()));
});

t.test('a request that was on its way gets Connection: close', async (t) => {
  const { running, url } = await serve(t, [service('a')], { drainSeconds: 60 });
  const socket = await open(t, running.port, 'GET /health/ready HTTP/1.1\r\nhost: x\r\n');
  await fetch(`${url}/a`);
  const stopped = running.stop();
  socket.write('\r\n');
  const { head, body } = await respond(socket);
  t.match(head, /^HTTP\/1\.1 503 /);
  t.match(head, /^connection: close$/im);
  t.strictSame(JSON.parse(body), { status: 'stopping', version: VERSION, services: { a: 'ok' } });
  await stopped;
});

t.test('stop ends connections that are idle', async (t) => {
  const { running, url } = await serve(t, [service('a')], { drainSeconds: 60 });
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const [response] = await once(get(`${url}/a`, { agent }), 'response');
  await buffer(response);
  t.equal(Object.values(agent.freeSockets).flat().length, 1, 'there is one');
  t.ok(await isSoon(running.stop()));
  agent.destroy();
});

t.test('stop ends connections on which nothing was sent yet', async (t) => {
  const { running, url } = await serve(t, [service('a')], { drainSeconds: 60 });
  // Browsers open such ones in advance.
  const socket = await open(t, running.port);
  await fetch(`${url}/a`);
  t.ok(await isSoon(running.stop()));
  socket.destroy();
});

t.test('stop gives up on a request that never ends', async (t) => {
  const a = holding('a');
  const { running, url, lines } = await serve(t, [a], { drainSeconds: 0.1 });
  const lost = t.rejects(fetch(`${url}/a`), { cause: { code: 'UND_ERR_SOCKET' } });
  await a.next();
  const begin = performance.now();
  await running.stop();
  t.ok(performance.now() - begin >= 99, 'not before its time');
  await lost;
  t.match(await until(() => lines[0]), { status: 499 });
});
