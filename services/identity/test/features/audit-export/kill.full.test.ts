import { CLIENT_SERVICES, clientSecretSetting } from '@gatehouse/core/services';
import { startOtlpReceiver } from '@gatehouse/testing/otlp-receiver';
import { freePort, spawnService, until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';

const MAIN = new URL('../../../src/service.ts', import.meta.url).pathname;
const CLIENT = { client_id: 'app_first', client_secret: 'a-secret-of-many-characters-for-the-tests' };
const NOBODY = 'http://127.0.0.1:9';
const KILLS = repetitions(15);
/** The acknowledged requests of each process before it is killed. */
const REQUESTS = 60;

t.test('every acknowledged entry arrives, however often identity is killed', async (t) => {
  const collector = await startOtlpReceiver(t);
  const port = await freePort();
  const env = {
    PORT: String(port),
    HOST: '127.0.0.1',
    PUBLIC_URL: 'https://id.example.org',
    IDENTITY_MONGODB_URI: await testDatabase(t),
    IDENTITY_MASTER_KEY: 'ab'.repeat(32),
    ...{ USERS_URL: NOBODY, ITEMS_URL: NOBODY, COMMERCE_URL: NOBODY, NOTIFICATIONS_URL: NOBODY },
    ...Object.fromEntries(CLIENT_SERVICES.map((name) => [clientSecretSetting(name), CLIENT.client_secret])),
    NATS_URL: 'nats://127.0.0.1:9',
    IDENTITY_MACHINE_ID: CLIENT.client_id,
    IDENTITY_MACHINE_SECRET: CLIENT.client_secret,
    TRUSTED_PROXIES: '127.0.0.1',
    RATE_LIMIT: 'off',
    IDENTITY_AUDIT_OTLP_ENDPOINT: collector.url,
  };
  const start = async () => {
    const identity = await spawnService(MAIN, env);
    t.teardown(() => identity.child.kill('SIGKILL'));
    await identity.ready();
    return identity;
  };
  const post = (path: string, fields: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'x-forwarded-proto': 'https' },
      body: new URLSearchParams({ ...CLIENT, ...fields }),
    });

  /** The ids of the requests that were acknowledged. */
  const acknowledged: string[] = [];
  async function revokeTokens(): Promise<void> {
    for (;;) {
      const issued = await post('/oauth2/token', { grant_type: 'client_credentials' });
      const { access_token: token } = (await issued.json()) as { access_token: string };
      const revoked = await post('/oauth2/revoke', { token });
      if (revoked.status === 200) acknowledged.push(revoked.headers.get('x-request-id') ?? 'none');
    }
  }

  for (let kill = 1; kill <= KILLS; kill += 1) {
    const identity = await start();
    // Half of the time, the entries wait in the log.
    collector.state.status = kill % 2 === 0 ? 503 : 200;
    const clients = Promise.allSettled(Array.from({ length: 4 }, revokeTokens));
    const isFull = () => acknowledged.length >= kill * REQUESTS;
    await until(isFull, 60_000).finally(() => identity.child.kill('SIGKILL'));
    await clients;
    await identity.ended;
  }
  const [before] = [collector.logs().length];
  collector.state.status = 200;
  const identity = await start();
  const received = () =>
    new Set(collector.logs().map(({ body }) => (body.http_request as { uid: string }).uid));
  const missing = () => {
    const ids = received();
    return acknowledged.filter((id) => !ids.has(id));
  };
  await until(() => missing().length === 0, 60_000).catch(() => {});
  t.same(missing(), []);
  t.ok(acknowledged.length >= KILLS * REQUESTS, `${acknowledged.length} were acknowledged`);
  t.ok(before < acknowledged.length, `${before} had arrived before the last start`);
  identity.child.kill('SIGTERM');
  await identity.ended;
});
