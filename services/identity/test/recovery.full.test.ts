import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLIENT_SERVICES, clientSecretSetting } from '@gatehouse/core/services';
import { startLocalMongo } from '@gatehouse/local-mongo/start';
import { freePort, spawnService, until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';

const MAIN = new URL('../src/service.ts', import.meta.url).pathname;
const SECRET = 'a-secret-of-many-characters-for-the-tests';

t.test('it serves once MongoDB is there, and responds with 503 while that is away', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-identity-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const startMongo = () => startLocalMongo({ dataDir, env: process.env, logger });
  // Started and stopped once to learn the address, which stays the same.
  const first = await startMongo();
  await first.stop();

  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const identity = await spawnService(MAIN, {
    PORT: String(port),
    HOST: '127.0.0.1',
    PUBLIC_URL: 'https://id.example.org',
    IDENTITY_MONGODB_URI: first.uri,
    IDENTITY_MASTER_KEY: 'ab'.repeat(32),
    // Nobody answers at any of these: tokens that need no account are issued all the same.
    USERS_URL: 'http://127.0.0.1:9',
    ...{ ITEMS_URL: 'http://127.0.0.1:9', COMMERCE_URL: 'http://127.0.0.1:9' },
    NOTIFICATIONS_URL: 'http://127.0.0.1:9',
    ...Object.fromEntries(CLIENT_SERVICES.map((name) => [clientSecretSetting(name), SECRET])),
    NATS_URL: 'nats://127.0.0.1:9',
    IDENTITY_MACHINE_ID: 'app_first',
    IDENTITY_MACHINE_SECRET: SECRET,
    TRUSTED_PROXIES: '127.0.0.1',
  });
  const { child, ended } = identity;
  t.teardown(() => child.kill('SIGKILL'));
  const readiness = (status: number) => until(async () => (await identity.readiness()) === status, 20_000);
  const token = async () => {
    const response = await fetch(`${base}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-proto': 'https' },
      body: JSON.stringify({
        grant_type: 'client_credentials',
        client_id: 'app_first',
        client_secret: SECRET,
      }),
    });
    const { status, headers } = response;
    return { status, retryAfter: headers.get('retry-after'), body: (await response.json()) as unknown };
  };
  const away = {
    status: 503,
    retryAfter: '1',
    body: { error: 'temporarily_unavailable', error_description: String },
  };

  await readiness(503);
  await t.rejects(token(), { cause: { code: 'ECONNREFUSED' } }, 'before it was ever there');
  const second = await startMongo();
  await readiness(200);
  t.match(await token(), { status: 200, body: { token_type: 'Bearer' } });
  await second.stop();
  await readiness(503);
  // The application is remembered for some seconds, and nothing else needs the database.
  await until(async () => (await token()).status === 503, 10_000);
  t.match(await token(), away, 'after it has gone');
  const third = await startMongo();
  t.teardown(() => third.stop());
  await readiness(200);
  t.match(await token(), { status: 200 }, 'back');

  const plain = await fetch(`${base}/.well-known/jwks.json`, { headers: { 'x-forwarded-proto': 'http' } });
  t.equal(plain.status, 403);
  t.match(await plain.json(), { error: { code: 'https_required' } });

  child.kill('SIGTERM');
  await ended;
  t.equal(child.exitCode, 0);
});
