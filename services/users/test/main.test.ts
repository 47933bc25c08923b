import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalMongo } from '@gatehouse/local-mongo/start';
import { freePort, spawnNode, spawnService, until } from '@gatehouse/testing/processes';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';

const MAIN = new URL('../src/service.ts', import.meta.url).pathname;

t.test('wrong settings: a sentence for each, and exit status 1', async (t) => {
  const { child, ended, output } = spawnNode(MAIN, {
    USERS_MONGODB_URI: 'http://x',
    PORT: '70000',
    NATS_URL: 'http://x',
    USERS_ADMIN_USERNAME: 'x',
    USERS_V1_PROFILE: 'B1',
    USERS_V2_PROFILE: 'A',
    LEGACY_FILTERS_SUNSET: '2026-07-09',
  });
  await ended;
  t.equal(child.exitCode, 1);
  t.match(output(), 'The setting USERS_MONGODB_URI must begin with mongodb:// or mongodb+srv://.\n');
  t.match(output(), 'The setting IDENTITY_URL is required.\n');
  t.match(output(), 'The setting PUBLIC_URL is required.\n');
  t.match(output(), 'The setting USERS_CLIENT_SECRET is required.\n');
  t.match(output(), 'The setting NATS_URL must begin with nats:// or tls://.\n');
  t.match(output(), 'The setting PORT must be a whole number from 1 to 65535.\n');
  t.match(output(), 'The setting USERS_V1_PROFILE must be one of A, E, G.\n');
  t.match(output(), 'The setting USERS_V2_PROFILE must be one of B1, B2.\n');
  t.match(
    output(),
    'The setting LEGACY_FILTERS_SUNSET must be a date such as 2027-01-31, and not before 2026-07-10.\n',
  );
  t.equal(output().trim().split('\n').length, 9);
});

t.test('it serves once MongoDB is there, and responds with 503 while that is away', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-users-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const startMongo = () => startLocalMongo({ dataDir, env: process.env, logger });
  // Started and stopped once to learn the address, which stays the same.
  const first = await startMongo();
  await first.stop();

  const issuer = await createTestIssuer(t);
  const token = await issuer.machine('read:users');
  const port = await freePort();
  const users = await spawnService(MAIN, {
    PORT: String(port),
    HOST: '127.0.0.1',
    PUBLIC_URL: issuer.issuer,
    IDENTITY_URL: issuer.issuer,
    ITEMS_URL: issuer.issuer,
    COMMERCE_URL: issuer.issuer,
    NOTIFICATIONS_URL: issuer.issuer,
    USERS_CLIENT_SECRET: issuer.client.secret,
    USERS_MONGODB_URI: first.uri,
    // Nobody is there: it polls for what is broadcast.
    NATS_URL: `nats://127.0.0.1:${await freePort()}`,
    TRUSTED_PROXIES: '127.0.0.1',
    SHUTDOWN_DELAY_SECONDS: '0',
    DRAIN_SECONDS: '1',
  });
  const { child, ended, output } = users;
  t.teardown(() => child.kill('SIGKILL'));
  const list = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/users`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const readiness = (status: number) => until(async () => (await users.readiness()) === status, 20_000);
  const away = { status: 503, body: { error: { code: 'UNAVAILABLE', message: /database/ } } };

  await readiness(503);
  await t.rejects(list(), { cause: { code: 'ECONNREFUSED' } }, 'before it was ever there');

  const second = await startMongo();
  t.equal(second.uri, first.uri);
  await readiness(200);
  t.ok(issuer.asked.get('/.well-known/jwks.json'), 'the keys are loaded before the first token');
  t.match(await list(), { status: 200, body: { data: [] } });

  await second.stop();
  await readiness(503);
  t.match(await list(), away, 'after it has gone');

  const third = await startMongo();
  t.teardown(() => third.stop());
  await readiness(200);
  t.match(await list(), { status: 200 }, 'back');

  child.kill('SIGTERM');
  await ended;
  t.equal(child.exitCode, 0);
  for (const line of output().trim().split('\n'))
    t.doesNotThrow(() => JSON.parse(line), 'JSON where no terminal is');
});
