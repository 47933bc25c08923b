import { randomBytes } from 'node:crypto';
import { CLIENT_SERVICES, clientSecretSetting } from '@gatehouse/kit/services';
import { startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { freePort, type SpawnedNode, spawnNode, until } from '@gatehouse/testing/processes';
import { testDatabase } from '@gatehouse/testing/test-mongo';

type Teardown = { teardown(action: () => unknown): void };

const MAINS = {
  identity: new URL('../../../services/identity/src/main.ts', import.meta.url).pathname,
  users: new URL('../../../services/users/src/main.ts', import.meta.url).pathname,
};

export const MACHINE = { client_id: 'app_first', client_secret: randomBytes(32).toString('base64url') };
export const ADMIN = { username: 'admin', password: 'correct horse battery', email: 'admin@example.org' };

export type Node = { base: string; process: SpawnedNode; restart(): Promise<void>; kill(): Promise<void> };

/** Identity, users and NATS as processes of their own, as in production; databases of their own, too. */
export async function startCluster(t: Teardown, env: Record<string, string> = {}) {
  const nats = await startNatsWithPermissions(t);
  const [identityPort, usersPort] = [await freePort(), await freePort()];
  const identityUrl = `http://127.0.0.1:${identityPort}`;
  const usersUrl = `http://127.0.0.1:${usersPort}`;
  const clientSecret = randomBytes(32).toString('base64url');
  const common = {
    HOST: '127.0.0.1',
    PUBLIC_URL: 'https://id.example.org',
    TRUSTED_PROXIES: '127.0.0.1',
    ...Object.fromEntries(CLIENT_SERVICES.map((name) => [clientSecretSetting(name), clientSecret])),
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'warn',
    SHUTDOWN_DELAY_SECONDS: '0',
    DRAIN_SECONDS: '1',
    ...env,
  };
  /** What identity and the rotation of its keys have in common. */
  const keyEnv = {
    IDENTITY_MONGODB_URI: await testDatabase(t),
    IDENTITY_MASTER_KEY: randomBytes(32).toString('hex'),
  };
  const identity = await node(t, MAINS.identity, identityUrl, {
    ...common,
    ...keyEnv,
    PORT: String(identityPort),
    IDENTITY_MACHINE_ID: MACHINE.client_id,
    IDENTITY_MACHINE_SECRET: MACHINE.client_secret,
    USERS_URL: usersUrl,
    NATS_URL: nats.urlOf('identity'),
  });
  const users = await node(t, MAINS.users, usersUrl, {
    ...common,
    PORT: String(usersPort),
    USERS_MONGODB_URI: await testDatabase(t),
    IDENTITY_URL: identityUrl,
    NATS_URL: nats.urlOf('users'),
    USERS_ADMIN_USERNAME: ADMIN.username,
    USERS_ADMIN_EMAIL: ADMIN.email,
    USERS_ADMIN_PASSWORD: ADMIN.password,
  });
  await Promise.all([ready(identity), ready(users)]);
  return { nats, identity, users, keyEnv };
}

async function node(t: Teardown, main: string, base: string, env: Record<string, string>): Promise<Node> {
  const start = () => spawnNode(main, env);
  const running: Node = {
    base,
    process: start(),
    async restart() {
      running.process = start();
      await ready(running);
    },
    async kill() {
      running.process.child.kill('SIGKILL');
      await running.process.ended;
    },
  };
  t.teardown(() => running.kill());
  return running;
}

function ready({ base, process: { child, output } }: Node): Promise<void> {
  return until(async () => {
    if (child.exitCode !== null) throw new Error(`it ended:\n${output()}`);
    const status = await fetch(`${base}/health/ready`).then(
      (response) => response.status,
      () => 0,
    );
    return status === 200;
  }, 20_000);
}

/** An access token of the machine. */
export async function tokenFrom(identity: string, client: Record<string, string> = MACHINE): Promise<string> {
  const response = await fetch(`${identity}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'client_credentials', ...client }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return token;
}

export async function revokeAt(identity: string, token: string, client: Record<string, string> = MACHINE) {
  const response = await fetch(`${identity}/oauth2/revoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token, ...client }),
  });
  await response.body?.cancel();
  return response.status;
}

/** The status of a list of users with this token. */
export async function listStatus(users: string, token: string): Promise<number> {
  const response = await fetch(`${users}/v1/users?limit=1`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await response.body?.cancel();
  return response.status;
}
