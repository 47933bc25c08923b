// Runs alone, as it measures time.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { listen } from '@gatehouse/testing/listen';
import { skip } from '@gatehouse/testing/nats-server';
import { freePort, until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { ADMIN, NAMES, type Node, prepareCluster } from './cluster.ts';

const HOST = '127.0.0.1';
const AUDIENCE = 'https://notes.example.com/api';
const SERVER = join(import.meta.dirname, 'verifying-server.ts');
const KILL_EVERY_MS = 10_000;
t.setTimeout(900_000);

/** Passes each connection on to one of these ports that accepts it, the next one first. */
async function startEdge(ports: readonly number[]): Promise<number> {
  let turn = 0;
  const edge = createServer((client) => {
    const attempt = (left: number): void => {
      if (left === 0) return void client.destroy();
      turn += 1;
      const server = connect(Number(ports[turn % ports.length]), HOST);
      server.once('error', () => attempt(left - 1));
      server.once('connect', () => {
        server.removeAllListeners('error');
        for (const [from, to] of [
          [client, server],
          [server, client],
        ] as const) {
          from.on('error', () => to.destroy());
          from.on('close', () => to.destroy());
        }
        client.pipe(server).pipe(client);
      });
    };
    client.on('error', () => {});
    attempt(ports.length);
  });
  return listen(t, edge);
}

t.test('APIs of others refuse what is revoked, while replicas are killed', { skip }, async (t) => {
  const ports = [await freePort(), await freePort()];
  const usersPort = String(await freePort());
  const GATEHOUSE = `http://localhost:${await startEdge(ports)}`;
  const { start } = await prepareCluster(t, ['identity', 'users'], {
    ...Object.fromEntries(NAMES.map((name) => [`${name.toUpperCase()}_URL`, GATEHOUSE])),
    ...{ PUBLIC_URL: GATEHOUSE, USERS_URL: `http://${HOST}:${usersPort}` },
  });
  const replicas: Node[] = [];
  for (const port of ports) replicas.push(await start('identity', { HOST, PORT: String(port) }));
  const users = await start('users', { HOST, PORT: usersPort });
  await Promise.all([users, ...replicas].map((node) => node.process.ready()));

  /** Repeated while a replica is away. */
  async function send<T = Record<string, string>>(
    method: string,
    path: string,
    sent: object = {},
  ): Promise<T> {
    for (;;) {
      const reply = await jsonRequest<T>(method, GATEHOUSE + path, sent).catch(() => undefined);
      if (reply !== undefined && reply.status < 300) return reply.body;
      if (reply !== undefined && reply.status < 500)
        throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
      await sleep(50);
    }
  }
  const { token: login } = await send('POST', '/api/v1/auth/login', {
    body: { username: ADMIN.username, password: ADMIN.password },
  });
  const create = (path: string, body: object) => send('POST', `/api/v1/${path}`, { token: login, body });
  const scopes = [{ name: 'notes:read', description: 'Read your notes' }];
  await create('resources', { identifier: AUDIENCE, name: 'Notes', scopes });
  const machine = () => create('applications', { name: 'Robot', type: 'machine', scopes: ['read:data'] });
  const own = await create('applications', { name: 'Server', type: 'resource', scopes: [] });
  const { client_id: CLIENT_ID, client_secret: CLIENT_SECRET } = own;

  const servers = [await freePort(), await freePort()];
  for (const PORT of servers) {
    const env = { ...process.env, GATEHOUSE, AUDIENCE, CLIENT_ID, CLIENT_SECRET, PORT: String(PORT) };
    const child = spawn(process.execPath, [SERVER], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => child.kill());
    await once(child.stdout, 'data');
  }
  const statuses = (credential: string) =>
    Promise.all(
      servers.map(async (port) => {
        const headers = { authorization: `Bearer ${credential}` };
        return (await fetch(`http://${HOST}:${port}/notes`, { headers })).status;
      }),
    );

  const robot = await machine();
  const tokenOf = async ({ client_id, client_secret }: Record<string, string>) => {
    const body = { grant_type: 'client_credentials', client_id, client_secret, resource: AUDIENCE };
    return String((await send('POST', '/oauth/token', { body })).access_token);
  };
  const ways: Record<string, () => Promise<{ credential: string; revoke(): Promise<unknown> }>> = {
    async token() {
      const credential = await tokenOf(robot);
      const { client_id, client_secret } = robot;
      const body = { token: credential, client_id, client_secret };
      return { credential, revoke: () => send('POST', '/oauth2/revoke', { body }) };
    },
    async application() {
      const made = await machine();
      const path = `/api/v1/applications/${made.client_id}`;
      return { credential: await tokenOf(made), revoke: () => send('DELETE', path, { token: login }) };
    },
    async 'API key'() {
      const path = `applications/${robot.client_id}/api-keys`;
      const { id, api_key } = await create(path, { name: 'k', scopes: ['notes:read'], resource: AUDIENCE });
      const revoke = () => send('DELETE', `/api/v1/${path}/${id}`, { token: login });
      return { credential: String(api_key), revoke };
    },
  };

  const end = new AbortController();
  const killing = (async () => {
    for (let turn = 0; ; turn += 1) {
      await sleep(KILL_EVERY_MS, undefined, { signal: end.signal }).catch(() => {});
      const replica = replicas[turn % replicas.length];
      if (end.signal.aborted || replica === undefined) return;
      await replica.kill();
      await replica.restart();
    }
  })();
  for (const [name, make] of Object.entries(ways)) {
    const took: number[] = [];
    for (let i = 0; i < repetitions(40); i += 1) {
      const { credential, revoke } = await make();
      await until(async () => (await statuses(credential)).every((status) => status === 200), 10_000);
      await revoke();
      const begun = performance.now();
      await until(async () => (await statuses(credential)).every((status) => status === 401), 10_000);
      took.push(performance.now() - begun);
    }
    took.sort((a, b) => a - b);
    const [p50, p99, max] = [0.5, 0.99, 1].map((part) => took[Math.ceil(took.length * part) - 1] ?? 0);
    t.comment(`${name}: ${took.length} revoked, p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`);
    t.ok(Number(p99) < 1000 && Number(max) < 2000, `${name}: p99 ${p99} ms, max ${max} ms`);
  }
  end.abort();
  await killing;
});
