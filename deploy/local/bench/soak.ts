// `npm run soak [-- MINUTES]`: two processes of each service, NATS and one database under half of the load that they bear, while
// every half minute one of them is killed, the SMS gateway hangs, or a clock jumps. In the end it says whether anything that was
// acknowledged is lost, what was sold beyond the stock, which messages were sent more often than their attempts say, and which
// revoked tokens still worked a second later; the errors by cause; and the slopes of memory and of the longest responses.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { startLocalMongo } from '@gatehouse/local-mongo/start';
import { natsServer } from '@gatehouse/testing/nats-server';
import { freePort, until } from '@gatehouse/testing/processes';
import { databaseUri } from '../src/database-uri.ts';
import { startBalancer } from '../test/balancer.ts';
import {
  listStatus,
  NAMES,
  type Name,
  type Node,
  prepareCluster,
  revokeAt,
  tokenFrom,
} from '../test/cluster.ts';
import { prepareWorkload } from '../test/workload.ts';

const minutes = Number(process.argv[2] ?? 10);
const REPLICAS = 2;
const FAULT_EVERY_MS = 30_000;
const HANG_MS = 20_000;
/** How long NATS stays away when it is killed. */
const AWAY_MS = 1000;
/** Jobs are published again when they are a minute overdue, by a sweep every half minute. */
const SENT_WITHIN_MS = 240_000;
const STOCK = 1_000_000;
const CLOCK = new URL('./jumping-clock.mjs', import.meta.url).href;
const READS: [Name, string][] = [
  ['users', '/v2/users?limit=20'],
  ['users', '/v1/users?limit=20&offset=20'],
  ['items', '/api/v1/items?limit=20&cursor='],
  ['commerce', '/v2/products/search?q=te'],
  ['commerce', '/v2/orders?limit=20'],
  ['notifications', '/v2/notifications?limit=20'],
  ['notifications', '/api/v1/analytics?metric=requests'],
  ['identity', '/.well-known/jwks.json'],
];

const cleanups: (() => unknown)[] = [];
const scope = { teardown: (action: () => unknown) => void cleanups.push(action) };
const say = (text: string) => process.stdout.write(`${text}\n`);
const logger = createLogger({ name: 'soak', level: 'error' });
let isOver = false;

/** A gateway for SMS, which can be made to hang. */
async function startGateway() {
  const sent = new Map<string, number>();
  let isHanging = false;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (isHanging) await sleep(HANG_MS);
    const message = new URLSearchParams(Buffer.concat(chunks).toString()).get('Body') ?? '';
    sent.set(message, (sent.get(message) ?? 0) + 1);
    response.writeHead(201).end(JSON.stringify({ sid: `SM${sent.size}` }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.teardown(() => server.close().closeAllConnections());
  return {
    sent,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async hang(): Promise<void> {
      isHanging = true;
      await sleep(HANG_MS);
      isHanging = false;
    },
  };
}

/** The replicas, each behind the balancer of its service, which reach one another through those. */
async function startServices(uri: string, gatewayUrl: string) {
  const balancers = new Map<Name, Awaited<ReturnType<typeof startBalancer>>>();
  for (const name of NAMES) balancers.set(name, await startBalancer(scope, { tryOthers: true }));
  const origins = Object.fromEntries(NAMES.map((name) => [name, balancers.get(name)?.url ?? '']));
  const { nats, start } = await prepareCluster(
    scope,
    NAMES,
    {
      ...Object.fromEntries(NAMES.map((name) => [`${name.toUpperCase()}_URL`, origins[name] ?? ''])),
      NOTIFICATIONS_SMS_URL: gatewayUrl,
      NOTIFICATIONS_SMS_FROM: '+49301',
      NODE_OPTIONS: `--import=${CLOCK}`,
    },
    (name) => databaseUri(uri, name),
  );
  const replicas: { name: Name; node: Node }[] = [];
  for (const name of NAMES) {
    const nodes: Node[] = [];
    for (let i = 0; i < REPLICAS; i += 1) {
      nodes.push(await start(name, { HOST: '127.0.0.1', PORT: String(await freePort()) }));
    }
    balancers.get(name)?.use(...nodes.map(({ base }) => base));
    replicas.push(...nodes.map((node) => ({ name, node })));
  }
  await Promise.all(replicas.map(({ node }) => node.process.ready()));
  return { nats, replicas, origins: origins as Record<Name, string> };
}

/** Counts by cause, with the first example of each. */
function createErrors() {
  const causes = new Map<string, { count: number; example: string }>();
  return {
    causes,
    add(example: string): void {
      const [, service = '', status = 'no response'] = /^(\w+): \w+ \S+: (\d{3})/.exec(example) ?? [];
      const cause = `${service} ${status}`.trim();
      causes.set(cause, { example, ...causes.get(cause), count: (causes.get(cause)?.count ?? 0) + 1 });
    },
  };
}

/** Reads at half of the rate that is possible; each of the times is that of one response, in milliseconds. */
async function readOn(origins: Record<Name, string>, times: number[], onFailure: (text: string) => void) {
  let token = '';
  for (let n = 0; !isOver; n += 1) {
    const [name, path] = READS[n % READS.length] as [Name, string];
    const begin = performance.now();
    try {
      if (n % 100 === 0) token = await tokenFrom(origins.identity);
      const response = await fetch(origins[name] + path, { headers: { authorization: `Bearer ${token}` } });
      const text = await response.text();
      times.push(performance.now() - begin);
      if (!response.ok) onFailure(`${name}: GET ${path}: ${response.status} ${text}`);
    } catch (error) {
      onFailure(`${name}: GET ${path}: ${(error as Error).cause ?? error}`);
    }
    await sleep(performance.now() - begin);
  }
}

/** Revokes tokens; returns how many, and which services still accepted one a second later. */
async function revokeOn(origins: Record<Name, string>) {
  const found = { revoked: 0, accepted: [] as string[] };
  while (!isOver) {
    try {
      const token = await tokenFrom(origins.identity);
      if ((await listStatus(origins.users, token)) !== 200) continue;
      if ((await revokeAt(origins.identity, token)) !== 200) continue;
      found.revoked += 1;
      await sleep(1000);
      for (const [name, path] of READS.slice(0, -1)) {
        const headers = { authorization: `Bearer ${token}` };
        const response = await fetch(origins[name] + path, { headers }).catch(() => undefined);
        await response?.body?.cancel();
        if (response?.status === 200) found.accepted.push(`${name} at ${new Date().toISOString()}`);
      }
    } catch {
      // The service is away, which the other clients report.
    }
    await sleep(1000);
  }
  return found;
}

const memoryOf = (pid = 0) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** The slope of a line through the values, for each step, and its standard error. */
function slopeOf(values: readonly number[]): string {
  const n = values.length;
  if (n < 4) return 'too few values for a slope';
  const mid = (n - 1) / 2;
  const mean = values.reduce((sum, it) => sum + it, 0) / n;
  const squares = values.reduce((sum, _, i) => sum + (i - mid) ** 2, 0);
  const slope = values.reduce((sum, it, i) => sum + (i - mid) * (it - mean), 0) / squares;
  const residual = values.reduce((sum, it, i) => sum + (it - mean - slope * (i - mid)) ** 2, 0);
  return `mean ${mean.toFixed(1)}, slope ${slope.toFixed(2)} ± ${Math.sqrt(residual / (n - 2) / squares).toFixed(2)} a minute`;
}

try {
  if (!natsServer) throw new Error('there is no nats-server on this machine');
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-soak-'));
  cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const mongo = await startLocalMongo({ dataDir, env: process.env, logger });
  cleanups.push(() => mongo.stop());
  const gateway = await startGateway();
  const { nats, replicas, origins } = await startServices(mongo.uri, gateway.url);
  const errors = createErrors();
  const workload = await prepareWorkload(origins, errors.add, undefined, { isHalf: true });
  const users = createDatabase({ uri: databaseUri(mongo.uri, 'users'), name: 'users', logger });
  await users.start();
  await users.connection
    .collection<{ _id: string }>('users')
    .updateOne({ _id: workload.recipientId }, { $set: { phone: '+49301234567' } });
  await users.stop();

  const faults: Record<string, () => Promise<unknown>> = {
    async mongo() {
      process.kill(mongo.pid ?? 0, 'SIGKILL');
    },
    async nats() {
      await nats.kill();
      await sleep(AWAY_MS);
      await nats.start();
    },
    'gateway hangs': gateway.hang,
    async 'clock jumps'() {
      const { node } = replicas[Math.floor(Math.random() * replicas.length)] as (typeof replicas)[number];
      node.process.child.kill('SIGUSR2');
    },
    ...Object.fromEntries(
      replicas.map(({ name, node }, i) => [
        `${name} ${i % REPLICAS}`,
        async () => {
          await node.kill();
          await node.restart();
        },
      ]),
    ),
  };
  const happened = new Map<string, number>();
  async function breakThings(): Promise<void> {
    for (;;) {
      await sleep(FAULT_EVERY_MS);
      if (isOver) return;
      const names = Object.keys(faults);
      const name = names[Math.floor(Math.random() * names.length)] as string;
      happened.set(name, (happened.get(name) ?? 0) + 1);
      await faults[name]?.();
    }
  }

  const times: number[] = [];
  const reading = readOn(origins, times, errors.add);
  const revoking = revokeOn(origins);
  const breaking = breakThings();
  workload.start();
  const memories: number[] = [];
  const longest: number[] = [];
  for (let minute = 0; minute < minutes; minute += 1) {
    await sleep(60_000);
    const inMinute = times.splice(0).sort((a, b) => a - b);
    longest.push(inMinute[Math.floor((inMinute.length - 1) * 0.99)] ?? 0);
    const pids = replicas.map(({ node }) => node.process.child).filter(({ exitCode }) => exitCode === null);
    memories.push(pids.reduce((sum, { pid }) => sum + memoryOf(pid), 0) / pids.length);
    say(
      `minute ${minute + 1}: ${workload.requests()} requests so far, p99 of reads ${longest.at(-1)?.toFixed(0)} ms, ${memories.at(-1)?.toFixed(0)} MB a process`,
    );
  }
  isOver = true;
  await workload.stop();
  await Promise.all([reading, breaking]);
  const { revoked, accepted } = await revoking;
  await Promise.all(
    replicas.map(({ node }) => until(async () => (await node.process.readiness()) === 200, 60_000)),
  );

  const lost = await workload.lost();
  const orders = workload.acknowledged.filter(({ service }) => service === 'commerce').length;
  const { stock } = await workload.call('commerce', 'GET', `/v2/products/${workload.productId}`);
  const unacknowledged = (STOCK - Number(stock)) / 3 - orders;
  const open = workload.acknowledged.filter(({ service }) => service === 'notifications');
  const notifications = open.length;
  const deadline = performance.now() + SENT_WITHIN_MS;
  const repeated: string[] = [];
  let invisible = 0;
  // Each is looked at, also if that takes longer than they have.
  for (
    let looked = 0;
    open.length > 0 && (looked < notifications || performance.now() < deadline);
    looked += 1
  ) {
    const { path } = open.shift() as (typeof open)[number];
    const { status, message, attempts } = await workload.call('notifications', 'GET', path);
    if (!['sent', 'failed'].includes(String(status))) {
      open.push({ service: 'notifications', path, fields: {}, at: 0 });
      await sleep(20);
      continue;
    }
    const count = gateway.sent.get(String(message)) ?? 0;
    if (count > 1) repeated.push(path);
    if (count > (attempts as unknown[]).length) invisible += 1;
  }
  say(`faults: ${[...happened].map(([name, count]) => `${name} ${count}`).join(', ')}`);
  say(`acknowledged writes: ${workload.acknowledged.length}, lost: ${lost.length}`);
  for (const each of lost.slice(0, 10)) say(`  ${each}`);
  say(`orders without a response that were placed all the same: ${unacknowledged}`);
  say(
    `notifications: ${notifications}, not ended: ${open.length}, sent more than once: ${repeated.length}, more often than their attempts say: ${invisible}`,
  );
  say(
    `tokens revoked: ${revoked}, accepted a second later: ${accepted.length} ${accepted.slice(0, 5).join(', ')}`,
  );
  say('errors by cause:');
  for (const [cause, { count, example }] of errors.causes)
    say(`  ${cause}: ${count}, such as ${example.slice(0, 200)}`);
  say(`memory of a process in MB: ${slopeOf(memories)}`);
  say(`p99 of reads in ms: ${slopeOf(longest)}`);
  const isWell = lost.length + open.length + invisible + accepted.length === 0 && unacknowledged >= 0;
  say(isWell ? 'Nothing was lost.' : 'Something was lost: see above.');
  process.exitCode = isWell ? 0 : 1;
} finally {
  for (const clean of cleanups.reverse()) await clean();
}
