import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServiceUsage } from '@gatehouse/api/messaging';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { createStreamConsumer } from '@gatehouse/events/jetstream-consumer';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { completedRequest } from '@gatehouse/server/completed-request';
import { requestInfo } from '@gatehouse/server/requests';
import { run } from '@gatehouse/server/run';
import type { Service } from '@gatehouse/server/service';
import { createUsage } from '@gatehouse/server/usage/usage';
import type { UsageBatch } from '@gatehouse/server/usage/usage-batch';
import { createLoadComparison } from '@gatehouse/testing/compare-loads';
import { natsServer, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import { createRequestsModule } from '../src/requests/module.ts';

// `npm run bench:request-log`: the cost of the request log. Two processes get the same requests, a tenth of which fail, for a minute
// each and in turns: one process logs them, the other only counts usage. Both send to NATS, from where a third process stores the log in
// MongoDB.
const ROUNDS = 120;
const CONCURRENCY = 16;
const CALLS = 2_000_000;
const PATH = '/api/v1/items/itm_06f2k1c8w0h3v5n7q9t1x3z5b7';
const FAILING = '/api/v1/items/itm_06f2k1c8w0h3v5n7q9t1x3z5b8';
const logger = createLogger({ name: 'bench', level: 'silent' });
const FAILURE = { code: 'forbidden', message: 'This needs the scope write:data.', scope: 'write:data' };

const STREAM = { name: 'ANALYTICS', subject: 'analytics.usage.*', maxAgeMs: 3_600_000 };
/** The stored rows of each application. */
const ROWS = 1000;

const [mode, natsUrl = '', mongodbUri = ''] = process.argv.slice(2);
if (mode === undefined) await bench();
else if (mode === 'store') await store();
else await serve(mode === 'on');

async function connect(name: string) {
  const broadcast = createNatsBroadcast({ url: natsUrl, name, logger });
  await broadcast.start();
  await until(() => broadcast.connection() !== undefined, 10_000);
  return broadcast.connection;
}

async function serve(isOn: boolean): Promise<void> {
  const nats = await connect(isOn ? 'items' : 'commerce');
  const name = isOn ? 'items' : 'commerce';
  const usage = createServiceUsage({ name, logger, events: undefined, nats });
  if (usage === undefined) throw new Error('there is no usage');
  let n = 0;
  const service: Service = {
    name: 'items',
    prefixes: ['/api/v1/items'],
    handle(request, response) {
      const info = requestInfo(request);
      n += 1;
      const isFailed = request.url === FAILING;
      info.route = '/api/v1/items/:item_id';
      info.client = `app_${n % 200}`;
      info.credential = 'k2Jd';
      if (isFailed) info.failure = FAILURE;
      response.writeHead(isFailed ? 403 : 200, { 'content-type': 'application/json' });
      response.end('{"id":"itm_06f2k1c8w0h3v5n7q9t1x3z5b7","name":"Teapot"}');
    },
    start: async () => usage.start(),
    stop: usage.stop,
    unready: async () => undefined,
    observe: isOn
      ? usage.observe
      : (request) => {
          // Without it, requests are counted only.
          delete request.info;
          usage.observe(request);
        },
  };
  const limits = { trustedProxies: [], requireHttps: false, drainSeconds: 0 };
  const running = await run([service], { port: 0, host: '127.0.0.1', logger, ...limits });
  await running.started;
  process.send?.(running.port);
}

/** Stores what the others send, as notifications does, and says once a second how many rows there are. */
async function store(): Promise<void> {
  const connection = await connect('notifications');
  const database = createDatabase({ uri: mongodbUri, name: 'bench', logger });
  const requests = createRequestsModule(database, {
    settings: { days: 7, rows: ROWS, successPercent: 100 },
    ownedBy: async () => [],
  });
  await database.start();
  const reader = createStreamConsumer({
    ...{ connection, durable: 'bench', logger, stream: STREAM },
    async handle({ data }) {
      const { service, log } = data as unknown as UsageBatch;
      if (log.length > 0) await requests.take(service, log);
    },
  });
  reader.start();
  setInterval(async () => {
    const rows = await database.connection.collection('requests').countDocuments();
    process.send?.({ rows, cpu: process.cpuUsage() });
  }, 1000);
  process.send?.('ready');
}

async function bench(): Promise<void> {
  if (!natsServer) throw new Error('there is no nats-server on this machine');
  const cleanups: (() => unknown)[] = [];
  const mongo = await startTestMongo();
  const nats = await startJetStream({ teardown: (action: () => unknown) => void cleanups.push(action) });
  try {
    await compare(nats.url, mongo.uri);
  } finally {
    for (const cleanup of cleanups.toReversed()) await cleanup();
    await mongo.stop();
  }
}

async function compare(nats: string, mongo: string): Promise<void> {
  printCosts();
  const start = (name: string) =>
    spawn(process.execPath, [import.meta.filename, name, nats, mongo], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  const storing = start('store');
  await once(storing, 'message');
  let stored = { rows: 0, cpu: process.cpuUsage() };
  storing.on('message', (message) => {
    stored = message as typeof stored;
  });
  const comparison = createLoadComparison({ rounds: ROUNDS, concurrency: CONCURRENCY });
  const children = ['off', 'on'].map((name) => {
    return { name, child: start(name) };
  });
  try {
    const servers = await Promise.all(
      children.map(async ({ name, child }) => {
        const [port] = await once(child, 'message');
        return { name, server: { pid: child.pid ?? 0, port: Number(port) } };
      }),
    );
    const loads = servers.map(({ name, server }) => {
      let n = 0;
      const next = () => {
        n += 1;
        const isFailed = n % 10 === 0;
        return { method: 'GET', path: isFailed ? FAILING : PATH, status: isFailed ? 403 : 200 } as const;
      };
      return [name, { server, next }] as const;
    });
    comparison.printTitle('request log');
    await comparison.compare(Object.fromEntries(loads));
    for (const { name, server } of servers) {
      process.stdout.write(`memory, ${name}: ${Math.round(residentKiB(server.pid) / 1024)} MiB\n`);
    }
    const { rows, cpu } = stored;
    process.stdout.write(
      `stored: ${rows} rows of 200 applications, of ${ROWS} each at most; ${((cpu.user + cpu.system) / 1e6).toFixed(1)} s of CPU, ${Math.round(residentKiB(storing.pid ?? 0) / 1024)} MiB\n`,
    );
  } finally {
    comparison.close();
    storing.kill();
    for (const { child } of children) child.kill();
  }
}

/** The microseconds of one call, of those that are logged and of those that are one too many. */
function printCosts(): void {
  const info = {
    route: '/api/v1/items/:item_id',
    client: 'app_1',
    id: 'req_1',
    credential: 'k2Jd',
    failure: FAILURE,
  };
  const request = completedRequest('GET', info, { status: 403, ms: 1, path: PATH });
  const usage = createUsage({ service: 'items', send: async () => {}, logger });
  const { info: _, ...counted } = request;
  for (const [name, observed] of [
    ['counted only', counted],
    ['with the log', request],
    ['counted only', counted],
    ['with the log', request],
  ] as const) {
    const begin = process.cpuUsage();
    for (let i = 0; i < CALLS; i += 1) usage.observe(observed);
    const { user, system } = process.cpuUsage(begin);
    process.stdout.write(`${name}: ${((user + system) / CALLS).toFixed(3)} µs for each request\n`);
  }
}

function residentKiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
