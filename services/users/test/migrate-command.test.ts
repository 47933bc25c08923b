import { freePort, spawnNode } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { storedFields, type UserDocument } from '../src/store/user-document.ts';
import { userRecord } from './store/user-record.ts';

const MAIN = new URL('../src/service.ts', import.meta.url).pathname;

t.test('the command brings a database up to date, and none of a later release is used', async (t) => {
  const uri = await testDatabase(t);
  const { connection } = await startTestDatabase(t, { uri });
  const issuer = await createTestIssuer(t);
  const env = {
    ...{ PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()), HOST: '127.0.0.1' },
    ...{ PUBLIC_URL: issuer.issuer, IDENTITY_URL: issuer.issuer, ITEMS_URL: issuer.issuer },
    ...{ COMMERCE_URL: issuer.issuer, NOTIFICATIONS_URL: issuer.issuer },
    USERS_CLIENT_SECRET: issuer.client.secret,
    USERS_MONGODB_URI: uri,
    NATS_URL: `nats://127.0.0.1:${await freePort()}`,
  };
  async function run(command: string) {
    const { child, ended, output } = spawnNode([MAIN, command], env);
    await ended;
    return { status: child.exitCode, output: output() };
  }
  t.same(await run('migrat'), {
    status: 1,
    output: 'There is no command migrat: the only one is migrate.\n',
  });

  const users = connection.collection<UserDocument>('users');
  const { search_text, search_words, ...fields } = storedFields({
    ...userRecord({ username: 'jo.berg' }),
    passwordHash: null,
  });
  const earlier = { ...fields, search_texts: ['jo.berg', 'o.berg'] };
  await users.insertMany([{ ...earlier, _id: 'usr_1' }, { _id: 'usr_2' }] as never);
  await users.createIndex({ search_texts: 1, _id: 1 });
  t.equal((await run('migrate')).status, 0);
  t.same(await users.find().toArray(), [
    { ...fields, search_text, search_words, _id: 'usr_1' },
    { _id: 'usr_2' },
  ]);
  const indexes = (await users.indexes()).map(({ name }) => name);
  t.ok(indexes.includes('living_username_key') && !indexes.includes('search_texts_1__id_1'));

  const later = { _id: 'of the release after the next one' as never, version: 3, applied_at: new Date() };
  await connection.collection('migrations').insertOne(later);
  t.match(await run('migrate'), { status: 1, output: /supports versions up to 2: start a newer one/ });
});
