// `npm run bench:reads [-- USERS [ROUNDS]]`: what the service adds to a request, beside a bare server that does the
// same with the database (bare-server.ts): both in processes of their own, on one database with so many users (20,000
// unless told), driven in turns. CPU is that of the server's process. With CPU_PROF=FOLDER the service writes a
// profile there, of all of it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { newId } from '@gatehouse/kit/ids';
import { freePort, until } from '@gatehouse/testing/processes';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import mongoose from 'mongoose';
import type { UserDocument } from '../src/store/user-document.ts';

const total = Number(process.argv[2] ?? 20_000);
const ROUNDS = Number(process.argv[3] ?? 15);
const ROUND_MS = 500;
const WARM_UP = 4;
const AT_A_TIME = 32;
const BATCH = 5000;
/** Linux counts CPU time in these. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;
const MAIN = new URL('../src/main.ts', import.meta.url).pathname;
const BARE = new URL('./bare-server.ts', import.meta.url).pathname;

type Server = { pid: number; port: number };
type Call = { method: 'GET' | 'POST'; path: string; body?: string; status: number };
/** What is asked of a server, again and again. */
type Load = { server: Server; next: () => Call };
/** Of one round: requests a second, milliseconds, microseconds of CPU for each request. */
type Figures = { rate: number; p50: number; p99: number; cpu: number };

const cleanups: (() => unknown)[] = [];
const scope = { teardown: (action: () => unknown) => void cleanups.push(action) };
const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME });

function documentOf(i: number): UserDocument {
  const id = newId('usr');
  const at = new Date(Date.parse('2024-01-01T00:00:00Z') + i * 1000);
  return {
    _id: id,
    username: `User.${i}`,
    username_key: `user.${i}`,
    email: `user.${i}@example.org`,
    email_key: `user.${i}@example.org`,
    email_verified: true,
    name: null,
    first_name: 'User',
    last_name: `Number ${i}`,
    phone: '+49 30 1234567',
    picture: `https://example.org/pictures/${id}.png`,
    role: 'user',
    status: 'active',
    password_hash: `$argon2id$v=19$m=19456,t=2,p=1$${'x'.repeat(22)}$${'y'.repeat(43)}`,
    epoch: 0,
    sign_in_epoch: 0,
    version: 1,
    created_at: at,
    updated_at: at,
    outbox: [],
  };
}

/** The ids of those it writes. */
async function fill(uri: string): Promise<string[]> {
  const client = await new mongoose.mongo.MongoClient(uri).connect();
  const ids: string[] = [];
  for (let i = 0; i < total; i += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, total - i) }, (_, n) => documentOf(i + n));
    await client.db('users').collection<UserDocument>('users').insertMany(batch, { ordered: false });
    ids.push(...batch.map(({ _id }) => _id));
  }
  await client.close();
  return ids;
}

/** A process of its own that answers at a path. Its log goes nowhere. */
async function start(script: readonly string[], path: string, env: Record<string, string>): Promise<Server> {
  const port = await freePort();
  const child = spawn(process.execPath, script, {
    env: { ...process.env, ...env, PORT: `${port}`, HOST: '127.0.0.1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  scope.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const answers = () =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(answers, 30_000);
  return { pid: child.pid ?? 0, port };
}

function ask(port: number, { method, path, body, status }: Call): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const sent = request({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
      text(response).then((answer) => {
        if (response.statusCode === status) resolve(answer);
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${answer}`));
      }, reject);
    });
    sent.on('error', reject).end(body);
  });
}

/** User and system time of a process and all its threads, in microseconds. */
function cpuOf({ pid }: Server): number {
  // The second field is the name, in parentheses, and may hold anything.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}

function megabytesOf({ pid }: Server): string {
  const resident = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  return `${((resident * PAGE_BYTES) / 1e6).toFixed(0)} MB`;
}

async function drive({ server, next }: Load, ms: number): Promise<Figures> {
  const times: number[] = [];
  const cpu = cpuOf(server);
  const begin = performance.now();
  async function one(): Promise<void> {
    while (performance.now() - begin < ms) {
      const asked = performance.now();
      await ask(server.port, next());
      times.push(performance.now() - asked);
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, one));
  const seconds = (performance.now() - begin) / 1000;
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? 0;
  return {
    rate: times.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    cpu: (cpuOf(server) - cpu) / times.length,
  };
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

function print(name: string, figures: string[]): void {
  process.stdout.write(`${name.padEnd(26)}${figures.map((it) => it.padStart(11)).join('')}\n`);
}

/** All of them in turns, so that whatever else the machine does falls on all alike; the first is the bare one. */
async function compare(loads: Record<string, Load>): Promise<void> {
  const rounds = new Map(Object.keys(loads).map((name) => [name, [] as Figures[]]));
  for (let i = -WARM_UP; i < ROUNDS; i += 1) {
    for (const [name, load] of Object.entries(loads)) {
      const figures = await drive(load, ROUND_MS);
      if (i >= 0) rounds.get(name)?.push(figures);
    }
  }
  const [bare = []] = rounds.values();
  for (const [name, own] of rounds) {
    const of = (key: keyof Figures) => median(own.map((it) => it[key]));
    print(name, [
      of('rate').toFixed(0),
      ...[of('p50'), of('p99')].map((ms) => ms.toFixed(1)),
      of('cpu').toFixed(0),
    ]);
    if (own === bare) continue;
    // Each round with the bare one beside it.
    const ratio = (key: keyof Figures) =>
      median(own.map((it, i) => it[key] / (bare[i]?.[key] ?? Number.NaN))).toFixed(2);
    print('  to the bare one', (['rate', 'p50', 'p99', 'cpu'] as const).map(ratio));
  }
}

let token = '';
try {
  const mongo = await startTestMongo();
  scope.teardown(() => mongo.stop());
  const issuer = await createTestIssuer(scope);
  token = await issuer.sign({ trusted: true, scope: 'read:users write:users', exp: Date.now() });
  const { CPU_PROF } = process.env;
  const profiling = CPU_PROF ? ['--cpu-prof', `--cpu-prof-dir=${CPU_PROF}`] : [];
  const service = await start([...profiling, MAIN], '/health/ready', {
    PUBLIC_URL: issuer.issuer,
    IDENTITY_URL: issuer.issuer,
    USERS_CLIENT_SECRET: issuer.client.secret,
    USERS_MONGODB_URI: mongo.uri,
    // Nobody is there: it polls for what is broadcast.
    NATS_URL: `nats://127.0.0.1:${await freePort()}`,
    TRUSTED_PROXIES: '127.0.0.1',
    RATE_LIMIT: 'off',
  });
  // After the service, which makes the indexes.
  const ids = await fill(mongo.uri);
  const bare = await start([BARE], '/users', { USERS_MONGODB_URI: mongo.uri });
  const get = (path: string): Call => ({ method: 'GET', path, status: 200 });
  let created = 0;
  const post = (): Call => {
    created += 1;
    return { method: 'POST', path: '/users', body: `{"name":"Ann Lee ${created}"}`, status: 201 };
  };
  const someone = () => ids[Math.floor(Math.random() * ids.length)];

  const [id] = ids;
  const answers = await Promise.all([
    ask(bare.port, get(`/users/${id}`)),
    ask(service.port, get(`/v1/users/${id}`)),
  ]);
  if (answers[0] !== answers[1]) throw new Error(`they answer differently: ${answers}`);
  const { links } = JSON.parse(await ask(service.port, get('/v1/users?cursor=')));

  print(`${total} users`, ['requests/s', 'p50 ms', 'p99 ms', 'CPU µs']);
  const before = megabytesOf(service);
  await compare({
    'bare read': { server: bare, next: () => get(`/users/${someone()}`) },
    read: { server: service, next: () => get(`/v1/users/${someone()}`) },
  });
  await compare({
    'bare list': { server: bare, next: () => get('/users') },
    'list by offset (A)': { server: service, next: () => get('/v1/users?offset=0') },
    'list by page (B2)': { server: service, next: () => get('/v2/users?page=2') },
    'list by cursor (A)': { server: service, next: () => get(links.next) },
  });
  await compare({
    'bare insert': { server: bare, next: post },
    'create (D)': { server: service, next: post },
  });
  process.stdout.write(
    `memory of the service: ${before} at the start, ${megabytesOf(service)} at the end; ` +
      `of the bare server ${megabytesOf(bare)}\n`,
  );
} finally {
  agent.destroy();
  for (const clean of cleanups.reverse()) await clean();
}
