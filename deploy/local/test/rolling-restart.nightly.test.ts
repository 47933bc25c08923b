// Runs alone, as it measures time.
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { skip as noNats } from '@gatehouse/testing/nats-server';
import { freePort, until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t, { type Test } from 'tap';
import { MACHINE, type Node, prepareCluster, tokenFrom } from './cluster.ts';
import { caddySkip, nginxSkip, type Replica, startCaddy, startNginx, startService } from './edges.ts';

t.setTimeout(600_000);

const NAMES = ['identity', 'users'] as const;
const REPLICAS = 2;
/** Requests a second; a busy machine sends fewer, as so many are in flight at most. */
const RATE = 400;
const MAX_IN_FLIGHT = 32;

type Call = { method: 'GET' | 'POST'; path: string; body?: object };
type Client = (call: Call & { token?: string | undefined }) => Promise<{ status: number; body: string }>;
type Started = Replica & { start(): Promise<void>; stop(): Promise<void> };

const headersOf = (token: string | undefined) => ({
  'content-type': 'application/json',
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
});

/** Requests by Node's own client on connections that are kept alive. */
function agentClient(t: Test, base: string, ca?: Buffer): Client {
  const options = { keepAlive: true, maxSockets: 64 };
  const agent = ca === undefined ? new HttpAgent(options) : new HttpsAgent({ ...options, ca });
  const send = ca === undefined ? httpRequest : httpsRequest;
  t.teardown(() => agent.destroy());
  return ({ method, path, token, body }) =>
    new Promise((resolve, reject) => {
      const sent = send(base + path, { agent, method, headers: headersOf(token), timeout: 20_000 });
      sent.on('response', (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      });
      sent.on('timeout', () => sent.destroy(new Error('timed out'))).on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

/** The same by undici. */
function fetchClient(base: string): Client {
  return async ({ method, path, token, body }) => {
    const response = await fetch(base + path, {
      method,
      headers: headersOf(token),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.text() };
  };
}

/** Where the services are reached, and with which clients in turn. */
type Edge = {
  name: string;
  skip: string | false;
  /** SHUTDOWN_DELAY_SECONDS: the time that it needs to notice that a replica is not ready. */
  delay: string;
  start(t: Test, replicas: readonly Replica[], urls: Record<string, string>): Promise<Client[]>;
};

const EDGES: Edge[] = [
  {
    name: 'Caddy with the Caddyfile of the compose file',
    skip: noNats || caddySkip,
    delay: '0',
    async start(t, replicas) {
      const { base, ca } = await startCaddy(t, replicas);
      return [agentClient(t, base, ca)];
    },
  },
  {
    name: 'nginx',
    skip: noNats || nginxSkip,
    delay: '0',
    start: async (t, replicas) => [agentClient(t, await startNginx(t, replicas))],
  },
  {
    name: 'a Service of Kubernetes, and clients that keep their connections',
    skip: noNats,
    delay: '2',
    async start(t, _replicas, urls) {
      const clients = [(base: string) => agentClient(t, base), fetchClient].map((create) => {
        const [identity, users] = NAMES.map((name) => create(String(urls[name])));
        return (call: Call) => (/^\/(?:oauth|\.well-known)\//.test(call.path) ? identity : users)?.(call);
      });
      return clients as Client[];
    },
  },
];

/** The n-th request: 3 of 5 read, 1 gets a token, 1 creates an account. */
function callOf(n: number, token: string): Call & { token?: string; status: number } {
  if (n % 5 === 0) {
    return { method: 'POST', path: '/users', token, body: { name: `Ann ${n}` }, status: 201 };
  }
  if (n % 5 === 1) {
    const body = { grant_type: 'client_credentials', ...MACHINE };
    return { method: 'POST', path: '/oauth/token', body, status: 200 };
  }
  if (n % 5 === 2) return { method: 'GET', path: '/.well-known/jwks.json', status: 200 };
  return { method: 'GET', path: '/v1/users?limit=1', token, status: 200 };
}

/** Sends requests at a steady rate until it is stopped. */
function startLoad(t: Test, clients: readonly Client[], token: string) {
  const [failures, times, created]: [string[], number[], string[]] = [[], [], []];
  const pending = new Set<Promise<void>>();
  const begin = performance.now();
  let sent = 0;
  async function send(n: number): Promise<void> {
    const call = callOf(n, token);
    const sentAt = performance.now();
    const told = `${call.method} ${call.path} at ${Math.round(sentAt - begin)} ms`;
    try {
      const { status, body } = (await clients[n % clients.length]?.(call)) ?? {
        status: 0,
        body: '',
      };
      times.push(performance.now() - sentAt);
      if (status !== call.status) failures.push(`${told}: ${status} ${body}`);
      else if (status === 201) created.push(JSON.parse(body).id);
    } catch (error) {
      failures.push(`${told}: ${error} ${(error as Error).cause ?? ''}`);
    }
  }
  const timer = setInterval(() => {
    const due = ((performance.now() - begin) * RATE) / 1000;
    for (; sent < due && pending.size < MAX_IN_FLIGHT; sent += 1) {
      const sending = send(sent).finally(() => pending.delete(sending));
      pending.add(sending);
    }
  }, 10);
  return {
    failures,
    created,
    async stop() {
      clearInterval(timer);
      const rate = Math.round((sent / (performance.now() - begin)) * 1000);
      await Promise.all(pending);
      times.sort((a, b) => a - b);
      const at = (share: number) => Math.round(times[Math.floor((times.length - 1) * share)] ?? 0);
      t.comment(
        `${sent} requests, ${rate} a second: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`,
      );
    },
  };
}

/** Two replicas of each service, not yet started, that reach each other as in Kubernetes. */
async function prepareReplicas(t: Test, delay: string) {
  const replicas: Started[] = [];
  const urls = {
    identity: await startService(t, 'identity', replicas),
    users: await startService(t, 'users', replicas),
  };
  const nowhere = 'http://127.0.0.1:9';
  const cluster = await prepareCluster(t, NAMES, {
    IDENTITY_URL: urls.identity,
    USERS_URL: urls.users,
    ...{ ITEMS_URL: nowhere, COMMERCE_URL: nowhere, NOTIFICATIONS_URL: nowhere },
    SHUTDOWN_DELAY_SECONDS: delay,
    DRAIN_SECONDS: '10',
    LOG_LEVEL: 'error',
  });
  const PORT = String(await freePort());
  for (const [i, name] of NAMES.entries()) {
    for (let n = 1; n <= REPLICAS; n += 1) {
      let node: Node | undefined;
      const isRunning = () => node?.process.child.exitCode === null && node.process.child.signalCode === null;
      // Addresses of their own and one port, as containers have.
      const HOST = `127.0.${i + 1}.${n}`;
      replicas.push({
        ...{ name, host: HOST, port: PORT, isRunning },
        isReady: async () => (await node?.process.readiness()) === 200,
        async start() {
          node = await cluster.start(name, { HOST, PORT });
          await node.process.ready(120_000);
        },
        async stop() {
          node?.process.child.kill('SIGTERM');
          await node?.process.ended;
        },
      });
    }
  }
  return { replicas, urls, databases: cluster.databases };
}

for (const { name, skip, delay, start } of EDGES) {
  t.test(`every replica is restarted behind ${name}: no request fails`, { skip }, async (t) => {
    const { replicas, urls, databases } = await prepareReplicas(t, delay);
    await Promise.all(replicas.map((replica) => replica.start()));
    // The edge may find out a little later that they are ready.
    const isReached = (url: string) => fetch(url).then(Boolean, () => false);
    for (const url of Object.values(urls)) await until(() => isReached(url), 10_000);
    const token = await tokenFrom(urls.identity);
    const load = startLoad(t, await start(t, replicas, urls), token);
    await sleep(1000);
    for (const replica of replicas) {
      await replica.stop();
      await replica.start();
      await sleep(1000);
    }
    await load.stop();
    t.same(load.failures.slice(0, 10), [], `${load.failures.length} failed`);
    const database = await startTestDatabase(t, { uri: String(databases.get('users')) });
    const stored = database.connection.collection<{ _id: string }>('users');
    const kept = await stored.countDocuments({ _id: { $in: load.created } });
    t.equal(kept, load.created.length, 'no account that was acknowledged is lost');
  });
}
