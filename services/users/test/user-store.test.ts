import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/logger';
import { createDatabase } from '@gatehouse/mongo/database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { foldedKey, TakenError, type User } from '../src/user.ts';
import { createUserStore } from '../src/user-store.ts';

const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
const database = createDatabase({ uri: await testDatabase(t), name: 'users', logger });
const store = createUserStore(database.connection);
await database.start();
t.teardown(() => database.stop());
const collection = database.connection.collection('users');

function user(over: Partial<User> = {}): User & { passwordHash: string } {
  const id = newId('usr');
  const now = new Date();
  return {
    id,
    username: id,
    email: `${id}@example.org`,
    role: 'user',
    status: 'active',
    createdAt: now,
    updatedAt: now,
    ...over,
    passwordHash: 'hash',
  };
}

t.test('a user comes back as stored, without the password hash', async (t) => {
  const { passwordHash, ...inserted } = user({ role: 'editor', status: 'inactive' });
  await store.insert({ ...inserted, passwordHash });
  t.strictSame(await store.findById(inserted.id), inserted);
  t.equal((await collection.findOne({ username: inserted.username }))?.password_hash, 'hash');
  t.equal(await store.findById('usr_none'), undefined);
});

t.test('several people without an address, but no address twice', async (t) => {
  await store.insert(user({ email: null }));
  await store.insert(user({ email: null }));
  const first = user();
  await store.insert(first);
  await t.rejects(store.insert(user({ email: first.email })), new TakenError('email'));
  await t.rejects(store.insert(user({ username: first.username })), new TakenError('username'));
  t.equal(await store.taken(first.username.toUpperCase(), 'free@example.org'), 'username');
  t.equal(await store.taken('free', first.email?.toUpperCase() ?? ''), 'email');
  t.equal(await store.taken('free', 'free@example.org'), undefined);
});

t.test(
  'updatedAt grows with every update, also within a millisecond and when the clock was ahead',
  async (t) => {
    const ahead = new Date(Date.now() + 60_000);
    const { id, ...rest } = user();
    await store.insert({ id, ...rest, updatedAt: ahead });
    let last = ahead;
    for (let i = 0; i < 5; i += 1) {
      const updated = await store.update(id, { username: `renamed${i}` });
      t.ok(updated !== undefined && updated.updatedAt > last);
      last = updated?.updatedAt ?? last;
    }
  },
);

t.test('an update that meets another user changes nothing', async (t) => {
  const [a, b] = [user(), user()];
  await store.insert(a);
  await store.insert(b);
  await t.rejects(store.update(b.id, { username: 'changed', email: a.email ?? '' }), new TakenError('email'));
  t.match(await store.findById(b.id), { username: b.username, email: b.email, updatedAt: b.updatedAt });
});

t.test('every query uses an index', async (t) => {
  const plan = async (explain: Promise<unknown>) => JSON.stringify(await explain);
  const folded = foldedKey('someone');
  const plans = {
    byId: await plan(collection.find({ _id: 'x' } as never).explain('queryPlanner')),
    page: await plan(collection.find({}).sort({ _id: 1 }).skip(5).limit(5).explain('queryPlanner')),
    taken: await plan(
      collection.find({ $or: [{ username_key: folded }, { email_key: folded }] }).explain('queryPlanner'),
    ),
  };
  for (const [name, text] of Object.entries(plans)) {
    t.match(text, /IXSCAN|IDHACK|EXPRESS/, name);
    t.notMatch(text, /COLLSCAN|"stage":"SORT"/, name);
  }
});

t.test('folded keys', async (t) => {
  for (const [a, b] of [
    ['Ann', 'aNN'],
    ['Straße', 'STRASSE'],
    ['straße', 'straẞe'],
    ['ﬁnn', 'FINN'],
    ['Å', 'A\u030a'],
    ['ΣΊΣΥΦΟΣ', 'σίσυφος'],
    ['１２３', '123'],
  ] as const) {
    t.equal(foldedKey(a), foldedKey(b), `${a} ${b}`);
  }
  t.not(foldedKey('ann'), foldedKey('an'));
});
