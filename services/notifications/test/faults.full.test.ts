import { setTimeout as sleep } from 'node:timers/promises';
import { skip, startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { freePort, spawnService, until } from '@gatehouse/testing/processes';
import { atScale } from '@gatehouse/testing/repetitions';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { startTestService } from '@gatehouse/testing/test-service';
import { createUsersService } from '@gatehouse/users';
import mongoose from 'mongoose';
import t from 'tap';
import { ALL, ANN, type NotificationBody } from './build.ts';
import { startGateway } from './gateway.ts';

const MAIN = new URL('../src/service.ts', import.meta.url).pathname;
const CONCURRENCY = 32;
/** How long the last notification may take after the last one was accepted. */
const LIMIT_MS = 300_000;

t.setTimeout(1_200_000);

type Stored = Pick<NotificationBody, 'status' | 'message'> & { attempts: { outcome: string }[] };

/** NATS, users and a gateway; an API and a worker of notifications as processes of their own. */
async function start(t: { teardown(fn: () => unknown): void }) {
  const [nats, gateway] = [await startNatsWithPermissions(t), await startGateway(t)];
  const users = await startTestService<{ id: string }>(t, 'users', (config, logger, dependencies) =>
    createUsersService(
      {
        ...config,
        hashConcurrency: 1,
        hashMemoryKiB: 64,
        firstUsers: [{ id: ANN, username: 'ann', password: 'correct horse battery' }],
      },
      logger,
      dependencies,
    ),
  );
  const { issuer } = users;
  const ofIdentity = await issuer.internal('identity', 'users');
  await users.call('PATCH', `/internal/users/accounts/${ANN}`, ofIdentity, { phone: '+49 30 1234567' });
  const mongodbUri = await testDatabase(t);
  const env = {
    HOST: '127.0.0.1',
    PUBLIC_URL: issuer.issuer,
    TRUSTED_PROXIES: '127.0.0.1',
    IDENTITY_URL: issuer.issuer,
    USERS_URL: users.base,
    COMMERCE_URL: users.base,
    NOTIFICATIONS_URL: users.base,
    NOTIFICATIONS_MONGODB_URI: mongodbUri,
    NOTIFICATIONS_MASTER_KEY: '0'.repeat(64),
    NOTIFICATIONS_CLIENT_SECRET: issuer.client.secret,
    NATS_URL: nats.urlOf('notifications'),
    NOTIFICATIONS_SMS_URL: gateway.url,
    NOTIFICATIONS_SMS_FROM: '+15005550006',
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'error',
    SHUTDOWN_DELAY_SECONDS: '0',
  };

  async function node(slots: number) {
    const port = await freePort();
    const base = `http://127.0.0.1:${port}`;
    const begin = () =>
      spawnService(MAIN, { ...env, PORT: String(port), NOTIFICATIONS_SLOTS: String(slots) });
    let running = await begin();
    const kill = async () => {
      running.child.kill('SIGKILL');
      await running.ended;
    };
    t.teardown(kill);
    return {
      base,
      kill,
      ready: () => running.ready(),
      async start() {
        running = await begin();
        await running.ready();
      },
    };
  }
  const [api, worker] = [await node(0), await node(CONCURRENCY)];
  await Promise.all([api.ready(), worker.ready()]);
  const connection = await mongoose.createConnection(mongodbUri).asPromise();
  t.teardown(() => connection.close());
  const stored = connection.collection<Stored>('notifications');
  return { nats, gateway, api, worker, issuer, stored };
}

/**
 * Sends `count` notifications, while one of the victims at a time is killed with kill -9 and started again. Checks that each
 * ends, and that what arrived more than once says so in its attempts. Returns the number of duplicates.
 */
async function run(t: { teardown(fn: () => unknown): void }, count: number, names: string[]) {
  const { api, worker, nats, gateway, issuer, stored } = await start(t);
  const token = await issuer.sign({ trusted: true, scope: ALL, exp: Math.floor(Date.now() / 1000) + 3600 });
  const victims = Object.entries({ api, worker, nats }).filter(([name]) => names.includes(name));
  const kills = new Map<string, number>();
  const sending = new AbortController();
  const begun = Date.now();

  async function killing(): Promise<void> {
    while (!sending.signal.aborted) {
      await sleep(2000 + Math.random() * 4000, undefined, { signal: sending.signal }).catch(() => {});
      if (sending.signal.aborted) return;
      const [name, victim] = victims[Math.floor(Math.random() * victims.length)] ?? [];
      if (name === undefined || victim === undefined) return;
      await victim.kill();
      await sleep(Math.random() * 300);
      await victim.start();
      kills.set(name, (kills.get(name) ?? 0) + 1);
    }
  }

  /** Until it is accepted, as a client does that must not lose it. */
  async function post(number: number): Promise<void> {
    for (;;) {
      const response = await fetch(`${api.base}/v2/notifications`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'x-forwarded-proto': 'https',
          'idempotency-key': `n${number}`,
        },
        body: JSON.stringify({
          ...{ user_id: ANN, message: `n${number}`, type: 'sms' },
          priority: ['low', 'normal', 'high'][number % 3],
        }),
        signal: AbortSignal.timeout(10_000),
      }).catch(() => undefined);
      await response?.body?.cancel().catch(() => {});
      if (response?.status === 202) return;
      if (response !== undefined && response.status < 500 && response.status !== 409) {
        throw new Error(`refused: ${response.status}`);
      }
      await sleep(100);
    }
  }

  const killer = killing();
  let next = 0;
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (next < count) {
        next += 1;
        await post(next);
      }
    }),
  );
  const acceptedMs = Date.now() - begun;
  sending.abort();
  await killer;
  const unended = () => stored.countDocuments({ status: { $in: ['queued', 'sending'] } });
  await until(async () => (await unended()) === 0, LIMIT_MS);
  const endedMs = Date.now() - begun;

  const all = await stored.find({}, { projection: { status: 1, message: 1, attempts: 1 } }).toArray();
  const arrived = Map.groupBy(gateway.received, ({ body }) => body);
  const statuses = Object.fromEntries(
    [...Map.groupBy(all, ({ status }) => status)].map(([status, { length }]) => [status, length]),
  );
  const lost = all.filter(({ message, status }) => status === 'sent' && !arrived.has(message));
  const unexplained = all.filter(({ message, attempts }) => {
    const unknown = attempts.filter(({ outcome }) => outcome === 'unknown').length;
    return (arrived.get(message)?.length ?? 0) > 1 + unknown;
  });
  const duplicates = gateway.received.length - arrived.size;
  const about = { ...Object.fromEntries(kills), statuses, duplicates, acceptedMs, endedMs };
  return { all, lost, unexplained, duplicates, statuses, about: JSON.stringify(about) };
}

t.test('kill -9 of the API and NATS: none is lost, none is sent twice', { skip }, async (t) => {
  const count = 1000;
  const { all, lost, statuses, duplicates, about } = await run(t, count, ['api', 'nats']);
  t.comment(about);
  t.equal(new Set(all.map(({ message }) => message)).size, count);
  t.equal(all.length, count, 'none was accepted twice');
  t.same(statuses, { sent: count });
  t.same(lost, []);
  t.equal(duplicates, 0);
});

t.test(
  'kill -9 of the worker, the API and NATS: each ends, and a duplicate is explained',
  { skip },
  async (t) => {
    const count = atScale(10_000);
    const { all, lost, unexplained, statuses, about } = await run(t, count, ['api', 'nats', 'worker']);
    t.comment(about);
    t.equal(all.length, count);
    t.equal((statuses.sent ?? 0) + (statuses.failed ?? 0), count, 'each has ended');
    t.same(lost, []);
    t.same(unexplained, []);
  },
);
