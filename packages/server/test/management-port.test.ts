import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { VERSION } from '@gatehouse/core/version';
import type { RunOptions } from '@gatehouse/server/run';
import type { Service } from '@gatehouse/server/service';
import { service } from '@gatehouse/testing/run-services';
import t, { type Test } from 'tap';
import { holding, serve, until } from './serve.ts';

const urlOf = (port: number) => `http://127.0.0.1:${port}`;

/** Services with a management port. */
async function manage(t: Test, services: readonly Service[], options: Partial<RunOptions> = {}) {
  const { running } = await serve(t, services, { managementPort: 0, ...options });
  const management = urlOf(running.managementPort);
  async function health(path: 'live' | 'ready') {
    const response = await fetch(`${management}/health/${path}`);
    return { status: response.status, body: await response.json() };
  }
  /** The URL of the services, when they are ready. */
  async function started() {
    await running.started;
    return urlOf(running.port);
  }
  return { running, management, health, started };
}

/** Requests one after another on a connection that is kept alive. */
function keptAlive(t: Test, url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  return {
    async ask() {
      const [response]: IncomingMessage[] = await once(get(`${url}/a`, { agent }), 'response');
      return { body: await textOf(response as IncomingMessage), connection: response?.headers.connection };
    },
    isOpen: () => Object.values(agent.freeSockets).flat().length === 1,
    close: () => agent.destroy(),
  };
}

t.test('requests are accepted when every service has started and is ready', async (t) => {
  const start = Promise.withResolvers<void>();
  let reason: string | undefined = 'its database cannot be reached';
  const b = service('b', { start: () => start.promise, unready: async () => reason });
  const { running, health, started } = await manage(t, [service('a'), b]);
  const starting = {
    status: 503,
    body: { status: 'starting', version: VERSION, services: { a: 'ok', b: reason } },
  };
  t.strictSame(await health('ready'), starting, 'while one starts');
  t.strictSame(await health('live'), { status: 200, body: { status: 'ok' } });
  t.equal(running.port, 0, 'no port is listened on for requests');
  start.resolve();
  await sleep(200);
  t.strictSame(await health('ready'), starting, 'it has started, and is not ready');
  t.equal(running.port, 0);
  reason = undefined;
  const url = await started();
  t.equal(await (await fetch(`${url}/a`)).text(), 'a /a');
  const ready = { status: 200, body: { status: 'ready', version: VERSION, services: { a: 'ok', b: 'ok' } } };
  t.strictSame(await health('ready'), ready);

  reason = 'its database cannot be reached';
  t.match(await health('ready'), { status: 503, body: { status: 'unavailable' } });
  t.equal((await fetch(`${url}/a`)).status, 200, 'the port stays open while it is away');
});

t.test('health and metrics are on the management port only, and nothing else is there', async (t) => {
  const { management, started } = await manage(t, [service('a')]);
  const url = await started();
  t.match(await (await fetch(`${management}/metrics`)).text(), 'process_cpu_seconds_total');
  const absent = ['/health/live', '/health/ready', '/metrics'].map((path) => url + path);
  absent.push(...['/', '/a', '/health', '/metrics/x'].map((path) => management + path));
  for (const address of absent) {
    const response = await fetch(address);
    t.equal(response.status, 404, address);
    t.match(response.headers.get('content-type'), /^application\/json/);
    t.equal(response.headers.get('x-content-type-options'), 'nosniff');
  }
});

t.test('stopping: not ready, then no connections, then the end of those that are kept alive', async (t) => {
  const stopped: string[] = [];
  const held = holding('b', { stop: async () => void stopped.push('b') });
  const { running, health, started } = await manage(t, [service('a'), held], {
    shutdownDelaySeconds: 0.5,
    drainSeconds: 60,
  });
  const url = await started();
  const [used, idle] = [keptAlive(t, url), keptAlive(t, url)];
  await Promise.all([used.ask(), idle.ask()]);
  const inFlight = fetch(`${url}/b`);
  const { response } = await held.next();

  const stop = running.stop();
  t.match(await health('ready'), { status: 503, body: { status: 'stopping' } });
  t.match(await used.ask(), { body: 'a /a', connection: 'keep-alive' }, 'all is served for a while');
  t.equal(await (await fetch(`${url}/a`, { headers: { connection: 'close' } })).text(), 'a /a');
  await until(() => running.port === 0);
  await t.rejects(fetch(`${url}/a`, { headers: { connection: 'close' } }), {
    cause: { code: 'ECONNREFUSED' },
  });
  t.strictSame(await used.ask(), { body: 'a /a', connection: 'close' }, 'a request that is under way');
  await sleep(500);
  t.ok(idle.isOpen(), 'a connection without a request is left to its client');
  t.match(await health('ready'), { status: 503, body: { status: 'stopping' } });
  t.match(await health('live'), { status: 200 });
  response.end('the response');
  t.equal((await inFlight).headers.get('connection'), 'close');
  t.strictSame(stopped, [], 'nothing is stopped while a connection is left');
  idle.close();
  await stop;
  t.strictSame(stopped, ['b']);
  await t.rejects(health('live'), { cause: { code: 'ECONNREFUSED' } });
});

t.test('connections that wait to be accepted when it stops are served', async (t) => {
  const { running } = await manage(t, [service('a')], { drainSeconds: 60 });
  await running.started;
  const waiting = 50;
  const clients = new Worker(
    `const { parentPort, workerData: { port, waiting } } = require('node:worker_threads');
     const { connect } = require('node:net');
     const sent = 'POST /a HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 0\\r\\n\\r\\n';
     const ask = () => new Promise((resolve) => {
       const socket = connect(port, '127.0.0.1', () => socket.write(sent));
       socket.once('data', (response) => {
         resolve(response.toString('latin1', 0, 12));
         socket.destroy();
       });
       socket.on('error', ({ code }) => resolve(code)).on('close', () => resolve('closed'));
     });
     parentPort.once('message', async () => {
       parentPort.postMessage(await Promise.all(Array.from({ length: waiting }, ask)));
     });`,
    { eval: true, workerData: { port: running.port, waiting } },
  );
  t.teardown(() => clients.terminate());
  await once(clients, 'online');
  const received = once(clients, 'message');
  clients.postMessage('go');
  // Nothing is accepted meanwhile.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  const stop = running.stop();
  const [statuses] = await received;
  t.strictSame(
    statuses,
    Array.from({ length: waiting }, () => 'HTTP/1.1 200'),
  );
  await stop;
});

t.test('stop() before it was ready', async (t) => {
  const start = Promise.withResolvers<void>();
  const waiting = service('a', { start: () => start.promise, stop: async () => start.resolve() });
  const { running } = await manage(t, [waiting], { shutdownDelaySeconds: 60 });
  const rejected = t.rejects(running.started, { message: 'stopped before the services were ready' });
  await running.stop();
  await rejected;
  t.equal(running.port, 0);
});

t.test('a port for requests that is taken', async (t) => {
  const { running: other } = await serve(t, [service('a')]);
  const { running } = await manage(t, [service('b')], { port: other.port });
  await t.rejects(running.started, { code: 'EADDRINUSE' });
});
