import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { SERVICE_NAMES } from '@gatehouse/core/services';
import { skip as noNats, startJetStream } from './nats-server.ts';
import { freePort, until } from './processes.ts';
import { createTestIssuer, type TestIssuer } from './test-issuer.ts';
import { startTestMongo } from './test-mongo.ts';

/**
 * What a service adds to a request, measured beside a bare server that does the same with the database: both in
 * processes of their own, on one database, and driven in turns, so that whatever else the machine does falls on both.
 */

const ROUND_MS = 500;
const WARM_UP = 4;
const CONCURRENCY = 32;
const PAGE_BYTES = 4096;
/** Of the services that the service calls. */
const NOBODY_LISTENS = 'http://127.0.0.1:1';

type Server = { pid: number; port: number };
/** `token` is that of a trusted machine unless given. */
export type Call = { method: 'GET' | 'POST'; path: string; body?: string; status: number; token?: string };
/** What is asked of a server, again and again. */
export type Load = { server: Server; next: () => Call };
/** Of one round: requests a second, milliseconds, microseconds of CPU for each request. */
type Figures = { rate: number; p50: number; p95: number; p99: number; cpu: number };

export type Bench = {
  service: Server;
  bare: Server;
  /** By their names. */
  variants: Readonly<Record<string, Server>>;
  /** Signs tokens of other callers. */
  sign: TestIssuer['sign'];
  ask(server: Server, call: Call): Promise<string>;
  /** Drives the loads in turns, and prints each beside the first. */
  compare(loads: Record<string, Load>): Promise<void>;
};

/**
 * Starts a service by its main.ts and the bare server on one database, which `fill` fills once the service has made its
 * indexes; then runs the bench and prints the memory of both. With CPU_PROF=FOLDER the service writes a profile there.
 *
 * @param options.name of the service, as in the table of services
 * @param options.rounds of half a second each
 * @param options.scope of the token that requests carry
 * @param options.settings of the service, besides those that every service needs
 * @param options.concurrency requests at the same time
 * @param options.nats whether the service publishes events, to a NATS server
 * @param options.variants more processes of the service, with settings that differ
 */
export async function benchBeside(
  options: {
    name: string;
    main: string;
    bare: string;
    rounds: number;
    scope: string;
    title: string;
    settings?: Readonly<Record<string, string>>;
    nats?: boolean;
    concurrency?: number;
    variants?: Readonly<Record<string, Readonly<Record<string, string>>>>;
    fill(uri: string): Promise<void>;
  },
  run: (bench: Bench) => Promise<void>,
): Promise<void> {
  const { name, main, rounds, scope, title, fill, concurrency = CONCURRENCY } = options;
  const cleanups: (() => unknown)[] = [];
  const teardown = { teardown: (action: () => unknown) => void cleanups.push(action) };
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  let machine = '';

  /** A process of its own that serves once the path at one of its ports is found. Its log goes nowhere. */
  async function start(
    script: readonly string[],
    ready: { setting: 'PORT' | 'MANAGEMENT_PORT'; path: string },
    env: Record<string, string>,
  ): Promise<Server> {
    const ports = { PORT: await freePort(), MANAGEMENT_PORT: await freePort() };
    const child = spawn(process.execPath, script, {
      env: {
        ...process.env,
        ...env,
        PORT: `${ports.PORT}`,
        MANAGEMENT_PORT: `${ports.MANAGEMENT_PORT}`,
        HOST: '127.0.0.1',
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = once(child, 'exit');
    teardown.teardown(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    const responses = () =>
      fetch(`http://127.0.0.1:${ports[ready.setting]}${ready.path}`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(responses, 30_000);
    return { pid: child.pid ?? 0, port: ports.PORT };
  }

  function ask(port: number, { method, path, body, status, token = machine }: Call): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      };
      const sent = request({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
        text(response).then((reply) => {
          if (response.statusCode === status) resolve(reply);
          else reject(new Error(`${method} ${path}: ${response.statusCode} ${reply}`));
        }, reject);
      });
      sent.on('error', reject).end(body);
    });
  }

  /** The time for which the threads of a process have run, in microseconds. Linux counts it in nanoseconds. */
  function cpuOf({ pid }: Server): number {
    const threads = readdirSync(`/proc/${pid}/task`);
    const times = threads.map(
      (id) => readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0],
    );
    return times.reduce((sum, nanoseconds) => sum + Number(nanoseconds), 0) / 1000;
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
    await Promise.all(Array.from({ length: concurrency }, one));
    const seconds = (performance.now() - begin) / 1000;
    times.sort((a, b) => a - b);
    const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? 0;
    return {
      rate: times.length / seconds,
      p50: at(0.5),
      p95: at(0.95),
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

  /** All of them in turns, so that whatever else the machine does falls on all alike. */
  async function compare(loads: Record<string, Load>): Promise<void> {
    const figuresOf = new Map(Object.keys(loads).map((name) => [name, [] as Figures[]]));
    for (let i = -WARM_UP; i < rounds; i += 1) {
      for (const [name, load] of Object.entries(loads)) {
        const figures = await drive(load, ROUND_MS);
        if (i >= 0) figuresOf.get(name)?.push(figures);
      }
    }
    const [[firstName, first] = ['', []]] = figuresOf;
    for (const [name, own] of figuresOf) {
      const of = (key: keyof Figures) => median(own.map((it) => it[key]));
      print(name, [
        of('rate').toFixed(0),
        ...[of('p50'), of('p95'), of('p99')].map((ms) => ms.toFixed(1)),
        of('cpu').toFixed(0),
      ]);
      if (own === first) continue;
      // Each round with the first one beside it.
      const ratio = (key: keyof Figures) =>
        median(own.map((it, i) => it[key] / (first[i]?.[key] ?? Number.NaN))).toFixed(3);
      print(`  to ${firstName}`, (['rate', 'p50', 'p95', 'p99', 'cpu'] as const).map(ratio));
    }
  }

  async function natsUrl(): Promise<string> {
    if (options.nats && noNats === false) {
      return (await startJetStream(teardown)).url;
    }
    if (options.nats) process.stdout.write(`${noNats}: events wait\n`);
    // Nobody is there: it polls for what is broadcast.
    return `nats://127.0.0.1:${await freePort()}`;
  }

  try {
    const mongo = await startTestMongo();
    teardown.teardown(() => mongo.stop());
    const issuer = await createTestIssuer(teardown, name);
    machine = await issuer.sign({ trusted: true, scope, exp: Date.now() });
    const nats = await natsUrl();
    const { CPU_PROF } = process.env;
    const profiling = CPU_PROF ? ['--cpu-prof', `--cpu-prof-dir=${CPU_PROF}`] : [];
    const startService = (settings: Readonly<Record<string, string>> = {}) =>
      start(
        [...profiling, main],
        { setting: 'MANAGEMENT_PORT', path: '/health/ready' },
        {
          ...Object.fromEntries(SERVICE_NAMES.map((other) => [`${other.toUpperCase()}_URL`, NOBODY_LISTENS])),
          PUBLIC_URL: issuer.issuer,
          IDENTITY_URL: issuer.issuer,
          [`${name.toUpperCase()}_CLIENT_SECRET`]: issuer.client.secret,
          [`${name.toUpperCase()}_MONGODB_URI`]: mongo.uri,
          NATS_URL: nats,
          TRUSTED_PROXIES: '127.0.0.1',
          RATE_LIMIT: 'off',
          ...options.settings,
          ...settings,
        },
      );
    const service = await startService();
    await fill(mongo.uri);
    const variants: Record<string, Server> = {};
    for (const [variant, settings] of Object.entries(options.variants ?? {})) {
      variants[variant] = await startService(settings);
    }
    const bare = await start(
      [options.bare],
      { setting: 'PORT', path: `/${name}` },
      { MONGODB_URI: mongo.uri, NATS_URL: nats },
    );
    print(title, ['requests/s', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU µs']);
    const before = megabytesOf(service);
    await run({
      ...{ service, bare, variants, sign: issuer.sign },
      ...{ ask: (server, call) => ask(server.port, call), compare },
    });
    const others = Object.entries({ 'the bare server': bare, ...variants });
    process.stdout.write(
      `memory of the service: ${before} at the start, ${megabytesOf(service)} at the end; ` +
        `${others.map(([other, server]) => `of ${other} ${megabytesOf(server)}`).join(', ')}\n`,
    );
  } finally {
    agent.destroy();
    for (const clean of cleanups.reverse()) await clean();
  }
}
