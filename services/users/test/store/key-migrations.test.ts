import { createDatabase } from '@gatehouse/data/database';
import { emailKey, foldedKey } from '@gatehouse/domain/folded-key';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';
import { storedFields, USER_MIGRATIONS } from '../../src/store/user-document.ts';
import { createUserStore } from '../../src/store/user-store.ts';
import { TakenError } from '../../src/user.ts';
import { userRecord } from './user-record.ts';

/** A store with accounts of the release before, of confirmed addresses; the ids of these, and the warnings of the migrations. */
async function migrated(t: Test, accounts: { username: string; email: string }[]) {
  const uri = await testDatabase(t);
  const { connection } = await startTestDatabase(t, { uri, define: createUserStore });
  const records = accounts.map((account) => userRecord({ ...account, emailVerified: true }));
  const documents = records.map(({ id, ...record }) => ({
    ...{
      ...storedFields({ id, ...record }),
      look_alikes: undefined,
      _id: id,
      updated_at: record.updatedAt,
      version: 1,
    },
    ...{ username_key: foldedKey(record.username), email_key: foldedKey(record.email ?? '') },
  }));
  await connection.collection('users').insertMany(documents as never[], { ignoreUndefined: true });
  const { logger, lines } = recordingLogger('warn');
  const database = createDatabase({ uri, name: 'test', logger, migrations: USER_MIGRATIONS });
  t.teardown(() => database.stop());
  const store = createUserStore(database.connection);
  await database.start();
  return { store, ids: records.map(({ id }) => id), lines };
}

function loginOf(typed: string) {
  const [key, formerKey] = [emailKey(typed), foldedKey(typed)];
  return { emailKey: key, ...(formerKey !== key && { formerKey }) };
}

t.test('an address with a domain in another script is found by both spellings', async (t) => {
  const { store, ids, lines } = await migrated(t, [
    { username: 'ann', email: 'ann@bücher.example' },
    { username: 'bob', email: 'bob@straße.example' },
  ]);
  for (const typed of ['ann@BÜCHER.example', 'ann@xn--bcher-kva.example'])
    t.match(await store.findByLogin(loginOf(typed)), { user: { id: ids[0], email: 'ann@bücher.example' } });
  t.equal(await store.findByLogin(loginOf('bob@strasse.example')), undefined);
  t.same(lines, []);
});

t.test(
  'of two accounts with one address, each is found by its spelling, and nobody else gets it',
  async (t) => {
    const addresses = ['bo@xn--bcher-kva.example', 'bo@bücher.example'];
    const accounts = addresses.map((email, i) => ({ username: `bo-${i}`, email }));
    const { store, ids, lines } = await migrated(t, accounts);
    const pair = { users: [ids[1], ids[0]] };
    t.match(lines, [{ count: 1, users: [ids[1]] }, pair, { count: 1 }]);
    for (const [i, typed] of addresses.entries()) {
      const id = ids[i] ?? '';
      for (const phone of ['+49123456', '+49123457']) {
        t.match(await store.findByLogin(loginOf(typed)), { user: { id, email: typed } });
        t.match(await store.update(id, { phone }), { user: { id } }, 'and can be changed');
      }
      t.same(await store.findTaken({ email: typed }), ['email']);
      await t.rejects(store.insert(userRecord({ email: typed })), new TakenError('email'));
    }
  },
);

t.test('of accounts whose names look alike, each keeps them, and nobody new gets either', async (t) => {
  const names = ['testo', 'tеstо', 'test0', 'other'];
  const accounts = names.map((username) => ({ username, email: `${username}@example.org` }));
  const { store, ids, lines } = await migrated(t, accounts);
  const pairs = [1, 2].map((i) => ({ users: [ids[i], ids[0]] }));
  t.match(lines, [...pairs, { count: 2 }]);
  t.equal(lines.length, 3);
  for (const [i, username] of names.entries()) {
    const [id, email] = [ids[i] ?? '', `${username}@example.org`];
    for (const phone of ['+49123456', '+49123457'])
      t.match(await store.update(id, { phone }), { user: { id } });
    t.match(await store.findByLogin({ usernameKey: username }), { user: { id } });
    t.match(await store.findByLogin(loginOf(email)), { user: { id } });
    t.match(
      await store.update(id, { username: username.toUpperCase() }),
      { user: { id } },
      'another spelling',
    );
    t.same(await store.findTaken({ username, email }), ['username', 'email']);
    await t.rejects(store.insert(userRecord({ username })), new TakenError('username'));
    await t.rejects(store.insert(userRecord({ email })), new TakenError('email'));
  }
  t.same(await store.insertFree([userRecord({ username: 'tеsto' }), userRecord()]), [false, true]);
  await store.update(ids[1] ?? '', { username: 'elsewhere' });
  await t.rejects(
    store.update(ids[1] ?? '', { username: 'tеsto' }),
    new TakenError('username'),
    'once it is left',
  );
});

t.test('a name that is held for one account of a pair is not free for the other', async (t) => {
  const names = ['carol1', 'caro1l'];
  const accounts = names.map((username) => ({ username, email: `${username}@example.org` }));
  const { store, ids } = await migrated(t, accounts);
  const [owner = '', imitator = ''] = ids;
  await store.update(owner, { username: 'zz-carol' });
  await t.rejects(store.update(imitator, { username: 'carol1' }), new TakenError('username'));
  t.match(await store.update(owner, { username: 'carol1' }), { user: { username: 'carol1' } });
});
