import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SERVICE_NAMES, type ServiceName } from '@gatehouse/core/services';
import { NATS_IMAGE_VARIABLE, startNatsContainer } from './containers.ts';
import { installedNatsServer, NATS_SERVER_VARIABLE } from './nats-server-program.ts';
import { freePort, until } from './processes.ts';

const NATS_CONF = resolve(import.meta.dirname, '../../../deploy/docker/nats.conf');

/** A running server, of which the signals are those of its process. */
type Server = { send(signal: NodeJS.Signals): unknown; kill(): Promise<unknown> };
type Teardown = { teardown(action: () => unknown): void };

/** The path of the run's nats-server or, when a file is run by hand, of an installed one. */
export const natsServer = process.env[NATS_SERVER_VARIABLE] ?? installedNatsServer(process.env);
/** Instead of it, the image of the run's containers. */
const image = process.env[NATS_IMAGE_VARIABLE];

/** An option for tests that need a server. */
export const skip = !natsServer && !image && 'there is no nats-server on this machine';

/** Starts a NATS server for one test, which can be killed and started again on the same port. */
export async function startNats(t: Teardown, ...args: string[]) {
  return startServer(t, args, {});
}

/** The same with JetStream, and a folder for its streams. */
export async function startJetStream(t: Teardown) {
  return startWithStorage(t, [], {});
}

/**
 * Starts a cluster of three servers with JetStream and the users and permissions of deploy/docker/nats.conf. `urlOf` returns the URL for
 * a service at one of them, as startNatsWithPermissions() does.
 */
export async function startNatsCluster(t: Teardown) {
  const { passwords, env } = natsPasswords();
  const routePorts = await Promise.all([freePort(), freePort(), freePort()]);
  const routes = routePorts.map((port) => `nats://127.0.0.1:${port}`);
  const servers = await Promise.all(
    routes.map((route, i) => {
      const cluster = [
        '--cluster_name',
        'test',
        '--cluster',
        route,
        '--routes',
        routes.join(),
        '--no_advertise',
      ];
      return startWithStorage(t, ['-c', NATS_CONF, '--server_name', `nats-${i + 1}`, ...cluster], env);
    }),
  );
  return servers.map((server) => ({
    ...server,
    urlOf: (name: ServiceName) => `nats://${name}:${passwords[name]}@127.0.0.1:${server.port}`,
  }));
}

async function startServer(t: Teardown, args: readonly string[], env: Record<string, string>) {
  const port = await freePort();
  let server: Server | undefined;

  async function start(): Promise<void> {
    server = await (image ? startNatsContainer(image, { port, args, env }) : startProcess(port, args, env));
    await until(() => isResponding(port), 10_000);
  }

  async function kill(): Promise<void> {
    const running = server;
    server = undefined;
    await running?.kill();
  }

  await start();
  t.teardown(kill);
  return {
    port,
    url: `nats://127.0.0.1:${port}`,
    start,
    kill,
    /** Suspends it; resolves when it no longer answers. goOn() resumes it. */
    async hang(): Promise<void> {
      await server?.send('SIGSTOP');
      await until(async () => !(await isResponding(port)), 5000);
    },
    goOn: async () => server?.send('SIGCONT'),
    /** Lets it read its configuration again. */
    reload: async () => server?.send('SIGHUP'),
  };
}

function startProcess(port: number, args: readonly string[], env: Record<string, string>): Server {
  const child = spawn(natsServer ?? 'nats-server', ['-a', '127.0.0.1', '-p', `${port}`, ...args], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  });
  return {
    send: (signal) => child.kill(signal),
    async kill() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * The same with the users and permissions of deploy/docker/nats.conf; `urlOf` returns the URL for a service. The passwords
 * look like numbers, which the configuration must not take them for.
 */
export async function startNatsWithPermissions(t: Teardown) {
  const { passwords, env } = natsPasswords();
  const server = await startWithStorage(t, ['-c', NATS_CONF], env);
  const urlOf = (name: ServiceName) => `nats://${name}:${passwords[name]}@127.0.0.1:${server.port}`;
  return { ...server, passwords, urlOf };
}

function natsPasswords() {
  const passwords = Object.fromEntries(SERVICE_NAMES.map((name, i) => [name, `1${i}e${process.pid}`]));
  const env = Object.fromEntries(
    SERVICE_NAMES.map((name) => [`${name.toUpperCase()}_NATS_PASSWORD`, `"${passwords[name]}"`]),
  );
  return { passwords, env };
}

async function startWithStorage(t: Teardown, args: readonly string[], env: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-nats-'));
  // The teardown registered last runs first: the server no longer writes when its folder is removed.
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return { ...(await startServer(t, [...args, '--jetstream', '--store_dir', folder], env)), folder };
}

/** Whether the server sends its greeting on a new connection. */
function isResponding(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (responded: boolean) => {
      socket.destroy();
      resolve(responded);
    };
    socket.once('data', () => end(true));
    socket.once('error', () => end(false));
    socket.setTimeout(300, () => end(false));
  });
}
