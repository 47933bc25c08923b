import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { CLIENT_SERVICES, clientSecretSetting } from '@gatehouse/core/services';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { freePort, type SpawnedService, spawnService } from '@gatehouse/testing/processes';
import { testDatabase } from '@gatehouse/testing/test-mongo';

type Teardown = { teardown(action: () => unknown): void };

const SERVICES = resolve(import.meta.dirname, '../../../services');

export const MACHINE = { client_id: 'app_first', client_secret: randomBytes(32).toString('base64url') };
export const ADMIN = { username: 'admin', password: 'correct horse battery', email: 'admin@example.org' };

export type Node = {
  base: string;
  process: SpawnedService;
  restart(): Promise<void>;
  kill(): Promise<void>;
  /** Stops it as an operator would, with SIGTERM; returns its exit status. */
  stop(): Promise<number | null>;
};

/** The services that others call, and whose processes the cluster can have. */
export const NAMES = ['identity', 'users', 'items', 'commerce', 'notifications'] as const;
export type Name = (typeof NAMES)[number];

/** By default one of the test run's MongoDB. */
type DatabaseOf = (name: Name) => string;

type Options = {
  databaseOf?: DatabaseOf | undefined;
  /** Is told where each service will be, before it is started. */
  onStart?: (name: Name, base: string) => void;
};

/**
 * NATS, a database for each service, and what starts the services as processes of their own, as in production. `env` is for all
 * of them, and says where they are reached.
 */
export async function prepareCluster(
  t: Teardown,
  names: readonly Name[],
  env: Record<string, string>,
  databaseOf: DatabaseOf | undefined = undefined,
): Promise<{
  nats: Awaited<ReturnType<typeof startNatsWithPermissions>>;
  databases: ReadonlyMap<Name, string>;
  /** What identity and the rotation of its keys have in common. */
  keyEnv: Record<string, string>;
  start(name: Name, own: { HOST: string; PORT: string; MANAGEMENT_PORT?: string }): Promise<Node>;
}> {
  const nats = await startNatsWithPermissions(t);
  const clientSecret = randomBytes(32).toString('base64url');
  const databases = new Map<Name, string>();
  for (const name of names) databases.set(name, databaseOf?.(name) ?? (await testDatabase(t)));
  const keyEnv = {
    IDENTITY_MONGODB_URI: String(databases.get('identity')),
    IDENTITY_MASTER_KEY: randomBytes(32).toString('hex'),
    NOTIFICATIONS_MASTER_KEY: randomBytes(32).toString('hex'),
  };
  const common = {
    ...keyEnv,
    NOTIFICATIONS_MASTER_KEY: randomBytes(32).toString('hex'),
    IDENTITY_MACHINE_ID: MACHINE.client_id,
    IDENTITY_MACHINE_SECRET: MACHINE.client_secret,
    USERS_ADMIN_USERNAME: ADMIN.username,
    USERS_ADMIN_EMAIL: ADMIN.email,
    USERS_ADMIN_PASSWORD: ADMIN.password,
    PUBLIC_URL: 'https://id.example.org',
    TRUSTED_PROXIES: '127.0.0.0/8',
    ...Object.fromEntries(CLIENT_SERVICES.map((name) => [clientSecretSetting(name), clientSecret])),
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'warn',
    SHUTDOWN_DELAY_SECONDS: '0',
    DRAIN_SECONDS: '1',
    ...env,
  };
  return {
    nats,
    databases,
    keyEnv,
    start: (name, own) =>
      node(t, join(SERVICES, name, 'src/service.ts'), `http://${own.HOST}:${own.PORT}`, {
        ...common,
        [`${name.toUpperCase()}_MONGODB_URI`]: String(databases.get(name)),
        NATS_URL: nats.urlOf(name),
        ...own,
      }),
  };
}

/** NATS and a process of each service: identity, users, and those that are named. */
export async function startCluster<N extends Name = never>(
  t: Teardown,
  env: Record<string, string> = {},
  more: readonly N[] = [],
  { databaseOf, onStart }: Options = {},
) {
  const HOST = '127.0.0.1';
  const ports = new Map<Name, string>();
  const urlOf = (name: Name) => `http://${HOST}:${ports.get(name)}`;
  for (const name of NAMES) {
    ports.set(name, String(await freePort()));
    onStart?.(name, urlOf(name));
  }
  const urls = NAMES.map((name) => [`${name.toUpperCase()}_URL`, urlOf(name)]);
  const { start, ...cluster } = await prepareCluster(
    t,
    ['identity', 'users', ...more],
    { ...Object.fromEntries(urls), ...env },
    databaseOf,
  );
  const startOne = (name: Name) => start(name, { HOST, PORT: String(ports.get(name)) });
  const identity = await startOne('identity');
  const users = await startOne('users');
  const others = {} as Record<N, Node>;
  for (const name of more) others[name] = await startOne(name);
  await Promise.all([identity, users, ...Object.values<Node>(others)].map((node) => node.process.ready()));
  return { ...cluster, identity, users, others };
}

async function node(t: Teardown, main: string, base: string, env: Record<string, string>): Promise<Node> {
  const start = () => spawnService(main, env);
  const running: Node = {
    base,
    process: await start(),
    async restart() {
      running.process = await start();
      await running.process.ready();
    },
    async kill() {
      running.process.child.kill('SIGKILL');
      await running.process.ended;
    },
    async stop() {
      running.process.child.kill('SIGTERM');
      await running.process.ended;
      return running.process.child.exitCode;
    },
  };
  t.teardown(() => running.kill());
  return running;
}

/** An access token of the machine. */
export async function tokenFrom(identity: string, client: Record<string, string> = MACHINE): Promise<string> {
  const sent = { grant_type: 'client_credentials', ...client };
  const url = `${identity}/oauth/token`;
  const { status, body } = await jsonRequest<{ access_token: string }>('POST', url, { body: sent });
  if (status !== 200) throw new Error(`identity: POST /oauth/token: ${status} ${JSON.stringify(body)}`);
  return body.access_token;
}

export async function revokeAt(identity: string, token: string, client: Record<string, string> = MACHINE) {
  return (await jsonRequest('POST', `${identity}/oauth2/revoke`, { body: { token, ...client } })).status;
}

/** The status of a list of users with this token. */
export async function listStatus(users: string, token: string): Promise<number> {
  return (await jsonRequest('GET', `${users}/v1/users?limit=1`, { token })).status;
}
