import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { SERVICE_NAMES } from '@gatehouse/core/services';
import { type Call, createLoadComparison, type Server } from './compare-loads.ts';
import { skip as noNats, startJetStream } from './nats-server.ts';
import { freePort, until } from './processes.ts';
import { createTestIssuer, type TestIssuer } from './test-issuer.ts';
import { startTestMongo } from './test-mongo.ts';

/**
 * The overhead of a service, measured beside a bare server that does the same with the database: both in
 * processes of their own, on one database, and driven in turns, so that whatever else the machine does falls on both.
 */

const CONCURRENCY = 32;
const PAGE_BYTES = 4096;
/** The settings of the services that the service calls. */
const NOBODY_LISTENS = 'http://127.0.0.1:1';

/** `token` is that of a trusted machine unless given. */
export type AuthorizedCall = Omit<Call, 'headers'> & { token?: string };
type AuthorizedLoad = { server: Server; next: () => AuthorizedCall };

export type Bench = {
  service: Server;
  bare: Server;
  /** By their names. */
  variants: Readonly<Record<string, Server>>;
  /** Signs tokens of other callers. */
  sign: TestIssuer['sign'];
  ask(server: Server, call: AuthorizedCall): Promise<string>;
  /** Drives the loads in turns, and prints each beside the first. */
  compare(loads: Record<string, AuthorizedLoad>): Promise<void>;
};

/**
 * Starts a service by its service.ts and the bare server on one database, which `fill` fills once the service has made its
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
  const comparison = createLoadComparison({ rounds, concurrency });
  let machine = '';

  /** With the token, and the type of the body. */
  function authorized({ token = machine, ...call }: AuthorizedCall): Call {
    const type = call.body === undefined ? {} : { 'content-type': 'application/json' };
    return { ...call, headers: { authorization: `Bearer ${token}`, ...type } };
  }

  function megabytesOf({ pid }: Server): string {
    const resident = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
    return `${((resident * PAGE_BYTES) / 1e6).toFixed(0)} MB`;
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
        teardown,
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
      teardown,
      [options.bare],
      { setting: 'PORT', path: `/${name}` },
      { MONGODB_URI: mongo.uri, NATS_URL: nats },
    );
    comparison.printTitle(title);
    const before = megabytesOf(service);
    await run({
      service,
      bare,
      variants,
      sign: issuer.sign,
      ask: (server, call) => comparison.send(server, authorized(call)),
      compare: (loads) =>
        comparison.compare(
          Object.fromEntries(
            Object.entries(loads).map(([name, { server, next }]) => [
              name,
              { server, next: () => authorized(next()) },
            ]),
          ),
        ),
    });
    const others = Object.entries({ 'the bare server': bare, ...variants });
    process.stdout.write(
      `memory of the service: ${before} at the start, ${megabytesOf(service)} at the end; ` +
        `${others.map(([other, server]) => `of ${other} ${megabytesOf(server)}`).join(', ')}\n`,
    );
  } finally {
    comparison.close();
    for (const clean of cleanups.reverse()) await clean();
  }
}

/** A process of its own that serves once the path at one of its ports is found. Its log goes nowhere. */
async function start(
  { teardown }: { teardown(action: () => unknown): void },
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
  teardown(async () => {
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
