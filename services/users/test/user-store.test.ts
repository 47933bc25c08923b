import { OUTBOX_INDEX } from '@gatehouse/events/outbox-relay';
import { foldedKey } from '@gatehouse/kit/folded-key';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/logger';
import { createDatabase } from '@gatehouse/mongo/database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { TakenError, type UserRecord, userOf } from '../src/user.ts';
import { createUserStore } from '../src/user-store.ts';

const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
const database = createDatabase({ uri: await testDatabase(t), name: 'users', logger });
const store = createUserStore(database.connection);
await database.start();
t.teardown(() => database.stop());
const collection = database.connection.collection('users');

function user(over: Partial<UserRecord> = {}): UserRecord & { passwordHash: string } {
  const id = newId('usr');
  const now = new Date();
  return {
    id,
    username: id,
    email: `${id}@example.org`,
    emailVerified: false,
    name: null,
    firstName: null,
    lastName: null,
    phone: null,
    picture: null,
    role: 'user',
    status: 'active',
    epoch: 0,
    signInEpoch: 0,
    createdAt: now,
    updatedAt: now,
    ...over,
    passwordHash: 'hash',
  };
}

t.test('a user comes back as stored, without the password hash', async (t) => {
  const { passwordHash, ...inserted } = user({
    role: 'editor',
    status: 'inactive',
    emailVerified: true,
    name: 'Ann Other',
    firstName: 'Ann',
    lastName: 'Other',
    phone: '+49 30 1234567',
    picture: 'https://example.org/ann.png',
    epoch: 3,
    signInEpoch: 2,
  });
  await store.insert({ ...inserted, passwordHash });
  t.strictSame(await store.findById(inserted.id), userOf(inserted));
  t.equal(await store.passwordHashOf(inserted.id), 'hash');
  t.equal(await store.passwordHashOf('usr_none'), undefined);
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

t.test('a name that nobody has chosen follows what it is made of', async (t) => {
  const { id, ...rest } = user();
  await store.insert({ id, ...rest });
  const named = async (changes: Parameters<typeof store.update>[1]) =>
    (await store.update(id, changes))?.name;
  t.equal(await named({ username: 'first' }), 'first');
  t.equal(await named({ lastName: 'Last' }), 'Last');
  t.equal(await named({ firstName: '$First' }), '$First Last');
  t.equal(await named({ name: 'Chosen' }), 'Chosen');
  t.equal(await named({ name: null, firstName: null, lastName: null }), 'first');
});

t.test('only a verified address identifies, and another one is unverified', async (t) => {
  const { id, email, ...rest } = user({ username: 'Login' });
  await store.insert({ id, email, ...rest });
  const emailKey = foldedKey(email ?? '');
  t.match(await store.findByLogin({ usernameKey: 'login' }), { user: { id }, passwordHash: 'hash' });
  t.equal(await store.findByLogin({ emailKey }), undefined);
  t.equal(await store.verifyEmail(id, 'another@example.org'), undefined);
  t.match(await store.verifyEmail(id, email ?? ''), { emailVerified: true });
  t.match(await store.findByLogin({ emailKey }), { user: { id } });
  t.match(
    await store.update(id, { email: email ?? '', phone: '+49123456' }),
    { emailVerified: true },
    'the same',
  );
  t.match(await store.update(id, { phone: '+49123457' }), { emailVerified: true });
  t.match(await store.update(id, { email: `x${email}` }), { emailVerified: false });
  t.equal(await store.findByLogin({ emailKey: `x${emailKey}` }), undefined);
});

t.test('a change of standing raises the epochs and keeps its event, in one write', async (t) => {
  const { id, ...rest } = user({ epoch: 5, signInEpoch: 2 });
  await store.insert({ id, ...rest });
  const steps = [
    { change: { reason: 'role', role: 'editor' }, epoch: 6, signInEpoch: 2 },
    { change: { reason: 'status', status: 'inactive' }, epoch: 7, signInEpoch: 3 },
    { change: { reason: 'status', status: 'active' }, epoch: 8, signInEpoch: 3 },
    { change: { reason: 'password', passwordHash: '$new' }, epoch: 9, signInEpoch: 4 },
    { change: { reason: 'password', passwordHash: 'newer', currentHash: '$new' }, epoch: 10, signInEpoch: 5 },
  ] as const;
  for (const { change, epoch, signInEpoch } of steps) {
    const { reason } = change;
    t.match(await store.changeStanding(id, change), {
      user: { id, epoch, signInEpoch },
      event: { userId: id, epoch, signInEpoch, reason },
    });
  }
  for (const change of [
    { reason: 'role', role: 'editor' },
    { reason: 'status', status: 'active' },
    { reason: 'password', passwordHash: 'x', currentHash: 'hash' },
  ] as const) {
    t.equal(await store.changeStanding(id, change), undefined, `${change.reason}: not a change`);
  }
  t.match(await store.findById(id), { role: 'editor', status: 'active', epoch: 10, signInEpoch: 5 });
  t.equal(await store.passwordHashOf(id), 'newer');
  const outbox = (await collection.findOne({ _id: id as never }))?.outbox;
  t.match(
    outbox,
    steps.map(({ change, epoch, signInEpoch }) => ({
      id: /^evt_[0-9a-z]{26}$/,
      subject: 'users.account.changed',
      at: Date,
      data: { user_id: id, epoch, sign_in_epoch: signInEpoch, reason: change.reason },
    })),
  );
  t.equal(outbox.length, steps.length);
});

t.test('fifty changes at a time: every one counts', async (t) => {
  const { id, ...rest } = user();
  await store.insert({ id, ...rest });
  const done = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      store.changeStanding(id, { reason: 'password', passwordHash: `hash${i}` }),
    ),
  );
  t.same(
    done.map((it) => it?.event.epoch).sort((a = 0, b = 0) => a - b),
    Array.from({ length: 50 }, (_, i) => i + 1),
  );
});

t.test('a deletion leaves the epochs and the events, and nothing of the person', async (t) => {
  const { id, ...rest } = user({ epoch: 1, emailVerified: true, phone: '+4912345' });
  const before = (await store.page({ limit: 1, offset: 0 })).total;
  await store.insert({ id, ...rest });
  await store.changeStanding(id, { reason: 'role', role: 'admin' });
  t.equal((await store.page({ limit: 1, offset: 0 })).total, before + 1);
  t.same(await store.remove(id), { userId: id, epoch: 3, signInEpoch: 1, reason: 'deleted' });

  const left = await collection.findOne({ _id: id as never });
  t.same(Object.keys(left ?? {}).sort(), ['_id', 'deleted_at', 'epoch', 'outbox', 'sign_in_epoch']);
  t.match(left, { epoch: 3, sign_in_epoch: 1, deleted_at: Date });
  t.same(
    left?.outbox.map(({ data }: { data: unknown }) => data),
    [
      { user_id: id, epoch: 2, sign_in_epoch: 0, reason: 'role' },
      { user_id: id, epoch: 3, sign_in_epoch: 1, reason: 'deleted' },
    ],
  );

  t.equal(await store.findById(id), undefined);
  t.equal(await store.passwordHashOf(id), undefined);
  t.equal(await store.findByLogin({ usernameKey: foldedKey(rest.username) }), undefined);
  t.equal(await store.findByLogin({ emailKey: foldedKey(rest.email ?? '') }), undefined);
  t.equal(await store.taken(rest.username, rest.email ?? ''), undefined);
  t.equal(await store.update(id, { phone: null }), undefined);
  t.equal(await store.verifyEmail(id, rest.email ?? ''), undefined);
  t.equal(await store.changeStanding(id, { reason: 'status', status: 'inactive' }), undefined);
  t.equal(await store.remove(id), undefined);
  const { users, total } = await store.page({ limit: 100, offset: 0 });
  t.equal(total, before);
  t.notOk(users.some((found) => found.id === id));

  await t.rejects(store.insert({ id, ...rest }), new TakenError('id'), 'the id does not return');
  await store.insert(user({ username: rest.username, email: rest.email }));
  await store.remove((await store.findByLogin({ usernameKey: foldedKey(rest.username) }))?.user.id ?? '');
});

t.test('documents and indexes of earlier versions', async (t) => {
  const { id, ...rest } = user();
  await store.insert({ id, ...rest });
  const added = [
    'email_verified',
    'name',
    'first_name',
    'last_name',
    'phone',
    'picture',
    'epoch',
    'sign_in_epoch',
  ];
  await collection.updateOne(
    { _id: id as never },
    { $unset: Object.fromEntries(added.map((key) => [key, 1])) },
  );
  const { passwordHash: _, ...expected } = rest;
  t.strictSame(await store.findById(id), userOf({ id, ...expected }));
  t.match(await store.update(id, { email: rest.email ?? '' }), { emailVerified: false });
  t.match(await store.changeStanding(id, { reason: 'role', role: 'editor' }), {
    event: { epoch: 1, signInEpoch: 0 },
  });

  // Two deleted ones would be two users without a name under it.
  await collection.deleteMany({ deleted_at: { $exists: true } });
  await collection.createIndex({ username_key: 1 }, { unique: true });
  await store.prepare();
  await store.prepare();
  for (const gone of [user(), user()]) {
    await store.insert(gone);
    await store.remove(gone.id);
  }
});

t.test('the outbox has the index that its relay reads', async (t) => {
  const index = (await collection.indexes()).find(({ name }) => name === OUTBOX_INDEX.options.name);
  t.match(index, {
    key: OUTBOX_INDEX.fields,
    partialFilterExpression: OUTBOX_INDEX.options.partialFilterExpression,
  });
});

t.test('every query uses an index', async (t) => {
  const plan = async (explain: Promise<unknown>) => JSON.stringify(await explain);
  const folded = foldedKey('someone');
  const living = { username_key: { $gt: '' } };
  const find = (filter: object) => collection.find(filter as never);
  const plans = {
    byId: await plan(find({ _id: 'x', ...living }).explain('queryPlanner')),
    byUsername: await plan(find({ username_key: folded }).explain('queryPlanner')),
    byEmail: await plan(find({ email_key: folded, email_verified: true }).explain('queryPlanner')),
    page: await plan(find(living).sort({ _id: 1 }).hint({ _id: 1 }).skip(5).limit(5).explain('queryPlanner')),
    count: await plan(
      collection
        .aggregate([{ $match: living }, { $group: { _id: 1, n: { $sum: 1 } } }])
        .explain('queryPlanner'),
    ),
    taken: await plan(
      find({ $or: [{ username_key: folded }, { email_key: folded }] }).explain('queryPlanner'),
    ),
    verifyEmail: await plan(find({ _id: 'x', ...living, email: 'x' }).explain('queryPlanner')),
  };
  for (const [name, text] of Object.entries(plans)) {
    t.match(text, /IXSCAN|COUNT_SCAN|IDHACK|EXPRESS/, name);
    t.notMatch(text, /COLLSCAN|"stage":"SORT"/, name);
  }
  t.notMatch(plans.count, /FETCH/, 'counted on the index');
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
