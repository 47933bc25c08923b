import { freePort, spawnNode, until } from '@gatehouse/testing/processes';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';

const MAIN = new URL('../src/service.ts', import.meta.url).pathname;

t.test('a replica that may not migrate waits for the command', async (t) => {
  const issuer = await createTestIssuer(t);
  const managementPort = await freePort();
  const env = {
    ...{ PORT: String(await freePort()), MANAGEMENT_PORT: String(managementPort), HOST: '127.0.0.1' },
    ...{ MIGRATE_AT_START: 'off', SHUTDOWN_DELAY_SECONDS: '0' },
    ...{ PUBLIC_URL: issuer.issuer, IDENTITY_URL: issuer.issuer, ITEMS_URL: issuer.issuer },
    ...{ COMMERCE_URL: issuer.issuer, NOTIFICATIONS_URL: issuer.issuer },
    USERS_CLIENT_SECRET: issuer.client.secret,
    USERS_MONGODB_URI: await testDatabase(t),
    NATS_URL: `nats://127.0.0.1:${await freePort()}`,
  };
  const replica = spawnNode(MAIN, env);
  t.teardown(() => replica.child.kill('SIGKILL'));
  const health = async () => {
    const response = await fetch(`http://127.0.0.1:${managementPort}/health/ready`);
    return `${response.status} ${await response.text()}`;
  };
  await until(() => replica.output().includes('the database has pending migrations'), 20_000);
  t.match(await health(), /^503 .*the migrations of its database have not been applied/);

  const misspelt = spawnNode([MAIN, 'migrat'], env);
  await misspelt.ended;
  t.equal(misspelt.child.exitCode, 1);
  t.equal(misspelt.output(), 'There is no command migrat: the only one is migrate.\n');

  const command = spawnNode([MAIN, 'migrate'], env);
  await command.ended;
  t.equal(command.child.exitCode, 0, command.output());
  t.match(command.output(), 'a migration was applied');
  await until(async () => (await health()).startsWith('200'), 20_000);
  t.notMatch(replica.output(), 'a migration was applied');
});
