import { newId } from '@gatehouse/core/ids';
import { ERASING_SERVICES } from '@gatehouse/core/services';
import { OUTBOX_INDEX } from '@gatehouse/data/outbox';
import { foldedKey } from '@gatehouse/domain/folded-key';
import { applyMigrations } from '@gatehouse/testing/apply-migrations';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { ACTIVE_ADMINS } from '../../src/store/user-document.ts';
import { USER_MIGRATIONS } from '../../src/store/user-migrations.ts';
import { createUserStore } from '../../src/store/user-store.ts';
import { TakenError, type UserRecord, userOf, WrongPasswordError } from '../../src/user.ts';

const { store, connection } = await startTestDatabase(t, { define: createUserStore });
const collection = connection.collection('users');

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
    version: 1,
    createdAt: now,
    updatedAt: now,
    ...over,
    passwordHash: 'hash',
  };
}

/** The events that wait in a document. */
async function outboxOf(id: string) {
  return (await collection.findOne({ _id: id as never }))?.outbox ?? [];
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
    version: 7,
  });
  await store.insert({ ...inserted, passwordHash });
  t.strictSame(await store.findById(inserted.id), userOf(inserted));
  t.equal(await store.passwordHashOf(inserted.id), 'hash');
  t.equal(await store.passwordHashOf('usr_none'), undefined);
  t.equal((await collection.findOne({ username: inserted.username }))?.password_hash, 'hash');
  t.equal(await store.findById('usr_none'), undefined);
});

t.test('several users without an address, but no address twice', async (t) => {
  await store.insert(user({ email: null }));
  await store.insert(user({ email: null }));
  const first = user();
  await store.insert(first);
  await t.rejects(store.insert(user({ email: first.email })), new TakenError('email'));
  await t.rejects(store.insert(user({ username: first.username })), new TakenError('username'));
  const second = user();
  await store.insert(second);
  const username = first.username.toUpperCase();
  const email = first.email?.toUpperCase() ?? '';
  t.same(await store.findTaken({ username, email: 'free@example.org' }), ['username']);
  t.same(await store.findTaken({ username: 'free', email }), ['email']);
  t.same(await store.findTaken({ username: second.username, email }), ['username', 'email'], 'of two people');
  t.same(await store.findTaken({ username: 'free', email: 'free@example.org' }), []);
  t.same(await store.findTaken({ username, email: null }), ['username']);
  t.same(await store.findTaken({ email }), ['email']);
  t.same(await store.findTaken({ email: null }), []);
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
      t.ok(updated !== undefined && updated.user.updatedAt > last);
      last = updated?.user.updatedAt ?? last;
    }
  },
);

t.test('an update that conflicts with another user changes nothing', async (t) => {
  const [a, b] = [user(), user()];
  await store.insert(a);
  await store.insert(b);
  await t.rejects(store.update(b.id, { username: 'changed', email: a.email ?? '' }), new TakenError('email'));
  t.match(await store.findById(b.id), { username: b.username, email: b.email, updatedAt: b.updatedAt });
});

t.test('a derived name follows its sources', async (t) => {
  const { id, ...rest } = user();
  await store.insert({ id, ...rest });
  const named = async (changes: Parameters<typeof store.update>[1]) =>
    (await store.update(id, changes))?.user.name;
  t.equal(await named({ username: 'first' }), 'first');
  t.equal(await named({ lastName: 'Last' }), 'Last');
  t.equal(await named({ firstName: '$First' }), '$First Last');
  t.equal(await named({ name: 'Chosen' }), 'Chosen');
  t.equal(await named({ name: null, firstName: null, lastName: null }), 'first');
});

t.test('only a verified address identifies a user, and a new one is unverified', async (t) => {
  const { id, email, ...rest } = user({ username: 'Login' });
  await store.insert({ id, email, ...rest });
  const emailKey = foldedKey(email ?? '');
  t.match(await store.findByLogin({ usernameKey: 'login' }), { user: { id }, passwordHash: 'hash' });
  t.equal(await store.findByLogin({ emailKey }), undefined);
  await t.rejects(store.verifyEmail(id, 'another@example.org'), {
    message: 'This is not the current email address any more.',
  });
  t.match(await store.verifyEmail(id, email ?? ''), { emailVerified: true });
  t.match(await store.findByLogin({ emailKey }), { user: { id } });
  t.match(
    await store.update(id, { email: email ?? '', phone: '+49123456' }),
    { user: { emailVerified: true } },
    'the same',
  );
  t.match(await store.update(id, { phone: '+49123457' }), { user: { emailVerified: true } });
  t.match(await store.update(id, { email: `x${email}` }), { user: { emailVerified: false } });
  t.equal(await store.findByLogin({ emailKey: `x${emailKey}` }), undefined);
});

t.test('a security change raises the epochs and stores its event, in one write', async (t) => {
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
    t.match(await store.changeSecurity(id, change), {
      user: { id, epoch, signInEpoch },
      events: [{ userId: id, epoch, signInEpoch, reason }],
    });
  }
  for (const change of [
    { reason: 'role', role: 'editor' },
    { reason: 'status', status: 'active' },
  ] as const) {
    t.equal(await store.changeSecurity(id, change), undefined, `${change.reason}: not a change`);
  }
  await t.rejects(
    store.changeSecurity(id, { reason: 'password', passwordHash: 'x', currentHash: 'hash' }),
    new WrongPasswordError(),
  );
  t.match(await store.findById(id), { role: 'editor', status: 'active', epoch: 10, signInEpoch: 5 });
  t.equal(await store.passwordHashOf(id), 'newer');
  const outbox = await outboxOf(id);
  const written = steps.flatMap(({ change: { reason }, epoch, signInEpoch }, i) => [
    {
      id: /^evt_[0-9a-z]{26}$/,
      subject: 'users.account.changed',
      at: Date,
      data: { user_id: id, epoch, sign_in_epoch: signInEpoch, reason },
    },
    { subject: 'users.user.changed', data: { user_id: id, version: i + 2, changed: [reason] } },
  ]);
  t.match(outbox, [{ subject: 'users.user.created', data: { user_id: id, version: 1 } }, ...written]);
  t.equal(outbox.length, 1 + written.length);
});

t.test('every write raises the version and stores an event that names the changed fields', async (t) => {
  const { id, email, ...rest } = user({ firstName: 'Ann' });
  await store.insert({ id, email, ...rest });
  const changes: [Parameters<typeof store.update>[1], string[]][] = [
    [{ username: `$new-${id}`, firstName: 'Ann', phone: '+4912345' }, ['username', 'phone']],
    [
      { firstName: null, lastName: '$Other', name: 'Ann', picture: 'https://example.org/' },
      ['name', 'first_name', 'last_name', 'picture'],
    ],
    [{ email: email ?? '' }, []],
    [{ email: email?.toUpperCase() ?? '' }, ['email', 'email_verified']],
    [{ role: 'user', status: 'active' }, []],
    [{}, []],
  ];
  t.match(await store.verifyEmail(id, email ?? ''), { version: 2 });
  t.match(await store.verifyEmail(id, email ?? ''), { version: 3 });
  for (const [i, [fields]] of changes.entries()) {
    t.match(await store.update(id, fields), { user: { version: i + 4, epoch: 0 }, events: [] });
  }
  t.equal((await store.findById(id))?.version, 3 + changes.length);
  const outbox = await outboxOf(id);
  const ofUser = outbox.filter(({ subject }: { subject: string }) => subject !== 'users.account.changed');
  t.strictSame(
    ofUser.map(({ subject, data }: { subject: string; data: unknown }) => [subject, data]),
    [
      ['users.user.created', { user_id: id, version: 1 }],
      ...[['email_verified'], [], ...changes.map(([, changed]) => changed)].map((changed, i) => [
        'users.user.changed',
        { user_id: id, version: i + 2, changed },
      ]),
    ],
  );
  t.ok(outbox.every((it: { id: string; at: unknown }) => /^evt_/.test(it.id) && it.at instanceof Date));
  t.equal(new Set(outbox.map((it: { id: string }) => it.id)).size, outbox.length);
});

t.test(
  'role and status change with other fields, in one write, and end tokens as they do alone',
  async (t) => {
    const { id, ...rest } = user({ epoch: 4, signInEpoch: 2 });
    await store.insert({ id, ...rest });
    const both = await store.update(id, { role: 'editor', status: 'inactive', phone: '+4912345' });
    t.match(both, {
      user: { role: 'editor', status: 'inactive', phone: '+4912345', epoch: 6, signInEpoch: 3, version: 2 },
    });
    t.strictSame(both?.events, [
      { userId: id, epoch: 5, signInEpoch: 2, reason: 'role', details: { from: 'user', to: 'editor' } },
      { userId: id, epoch: 6, signInEpoch: 3, reason: 'status', details: { from: 'active', to: 'inactive' } },
    ]);
    t.match(await store.update(id, { role: 'editor', status: 'active' }), {
      user: { epoch: 7, signInEpoch: 3 },
      events: [{ userId: id, epoch: 7, signInEpoch: 3, reason: 'status' }],
    });
    t.match(await store.update(id, { role: 'admin', name: 'x' }), {
      user: { epoch: 8, signInEpoch: 3 },
      events: [{ userId: id, epoch: 8, signInEpoch: 3, reason: 'role' }],
    });
    const outbox = await outboxOf(id);
    t.strictSame(
      outbox.map(({ subject, data }: { subject: string; data: { version?: number; reason?: string } }) => [
        subject.split('.').slice(1).join('.'),
        data.reason ?? data.version,
      ]),
      [
        ['user.created', 1],
        ['account.changed', 'role'],
        ['account.changed', 'status'],
        ['user.changed', 2],
        ['account.changed', 'status'],
        ['user.changed', 3],
        ['account.changed', 'role'],
        ['user.changed', 4],
      ],
      'the account comes before the user',
    );
  },
);

t.test('a new password in an update ends tokens and sessions', async (t) => {
  const { id, ...rest } = user({ epoch: 4, signInEpoch: 2 });
  await store.insert({ id, ...rest });
  const exclusive = await store.update(id, { passwordHash: '$new' });
  t.match(exclusive, { user: { epoch: 5, signInEpoch: 3, version: 2 } });
  t.strictSame(exclusive?.events, [{ userId: id, epoch: 5, signInEpoch: 3, reason: 'password' }]);
  t.equal(await store.passwordHashOf(id), '$new');
  const all = await store.update(id, {
    passwordHash: 'newer',
    role: 'editor',
    status: 'inactive',
    name: 'x',
  });
  t.match(all, { user: { role: 'editor', status: 'inactive', epoch: 8, signInEpoch: 5, version: 3 } });
  t.strictSame(all?.events, [
    { userId: id, epoch: 6, signInEpoch: 3, reason: 'role', details: { from: 'user', to: 'editor' } },
    { userId: id, epoch: 7, signInEpoch: 4, reason: 'status', details: { from: 'active', to: 'inactive' } },
    { userId: id, epoch: 8, signInEpoch: 5, reason: 'password' },
  ]);
  t.equal(await store.passwordHashOf(id), 'newer');
  const outbox = await outboxOf(id);
  t.strictSame(
    outbox.flatMap(({ data }: { data: { changed?: string[] } }) => data.changed ?? []),
    ['password', 'name', 'role', 'status', 'password'],
  );
  t.equal(outbox.length, 7, 'every event of the account, and one for each write');
  t.notMatch(JSON.stringify(outbox), /new/, 'no hash');
});

t.test('a conditional write is made only at the given versions', async (t) => {
  const { id, ...rest } = user();
  await store.insert({ id, ...rest });
  const meanwhile = { kind: 'precondition_failed', message: 'This user has been changed meanwhile.' };
  for (const versions of [[2, 3], [], [0]]) {
    await t.rejects(store.update(id, { name: 'x' }, versions), meanwhile);
  }
  t.match(await store.update(id, { name: 'x' }, [1, 2]), { user: { version: 2 } });
  t.match(await store.update(id, { name: 'y' }, [1, 2]), { user: { version: 3 } });
  await t.rejects(store.remove(id, [2]), meanwhile);
  t.match(await store.findById(id), { name: 'y', version: 3 });
  await collection.updateOne({ _id: id as never }, { $unset: { version: 1 } });
  t.equal((await store.findById(id))?.version, 0);
  await t.rejects(store.update(id, {}, [1]), meanwhile);
  t.match(await store.update(id, {}, [0]), { user: { version: 1 } }, 'none is as good as 0');
  t.match(await store.remove(id, [1]), { userId: id });
});

t.test('fifty concurrent changes: none is lost', async (t) => {
  const { id, ...rest } = user();
  await store.insert({ id, ...rest });
  const done = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      store.changeSecurity(id, { reason: 'password', passwordHash: `hash${i}` }),
    ),
  );
  t.same(
    done.map((it) => it?.events[0]?.epoch).sort((a = 0, b = 0) => a - b),
    Array.from({ length: 50 }, (_, i) => i + 1),
  );
});

t.test('a deletion keeps the epochs and the events, and no personal data', async (t) => {
  const { id, ...rest } = user({ epoch: 1, emailVerified: true, phone: '+4912345' });
  const before = await store.count([]);
  await store.insert({ id, ...rest });
  await store.changeSecurity(id, { reason: 'role', role: 'admin' });
  t.equal(await store.count([]), before + 1);
  t.same(await store.remove(id), { userId: id, epoch: 3, signInEpoch: 1, reason: 'deleted' });

  const left = await collection.findOne({ _id: id as never });
  t.same(Object.keys(left ?? {}).sort(), [
    '_id',
    'deleted_at',
    'epoch',
    'outbox',
    'sign_in_epoch',
    'version',
  ]);
  t.match(left, { epoch: 3, sign_in_epoch: 1, version: 3, deleted_at: Date });
  t.same(
    left?.outbox.map(({ data }: { data: unknown }) => data),
    [
      { user_id: id, version: 1 },
      {
        ...{ user_id: id, epoch: 2, sign_in_epoch: 0, reason: 'role' },
        details: { from: 'user', to: 'admin' },
      },
      { user_id: id, version: 2, changed: ['role'] },
      { user_id: id, epoch: 3, sign_in_epoch: 1, reason: 'deleted' },
      { user_id: id, version: 3 },
      // The orders to erase what the services hold.
      ...ERASING_SERVICES.map(() => ({ user_id: id })),
    ],
  );

  t.equal(await store.findById(id), undefined);
  t.equal(await store.passwordHashOf(id), undefined);
  t.equal(await store.findByLogin({ usernameKey: foldedKey(rest.username) }), undefined);
  t.equal(await store.findByLogin({ emailKey: foldedKey(rest.email ?? '') }), undefined);
  t.same(await store.findTaken(rest), []);
  const none = { kind: 'not_found', message: 'There is no such user.' };
  await t.rejects(store.update(id, { phone: null }), none);
  await t.rejects(store.verifyEmail(id, rest.email ?? ''), none);
  await t.rejects(store.changeSecurity(id, { reason: 'status', status: 'inactive' }), none);
  await t.rejects(store.remove(id), none);
  t.equal(await store.count([]), before);

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
    'version',
    'outbox',
  ];
  await collection.updateOne(
    { _id: id as never },
    { $unset: Object.fromEntries(added.map((key) => [key, 1])) },
  );
  const { passwordHash: _, ...expected } = rest;
  t.strictSame(await store.findById(id), userOf({ id, ...expected, version: 0 }));
  t.match(await store.update(id, { email: rest.email ?? '' }), {
    user: { emailVerified: false, version: 1 },
  });
  t.match(await store.changeSecurity(id, { reason: 'role', role: 'editor' }), {
    user: { version: 2 },
    events: [{ epoch: 1, signInEpoch: 0 }],
  });

  // Two deleted ones would be two users without a name under it.
  await collection.deleteMany({ deleted_at: { $exists: true } });
  await collection.createIndex({ username_key: 1 }, { unique: true });
  const addressless = user({ email: null });
  await store.insert(addressless);
  await collection.updateOne({ _id: addressless.id as never }, { $set: { email_key: null } });
  const turkish = user({ username: 'ılgın', email: 'ı@example.org' });
  const contested = user({ email: 'ı@example.org' });
  await store.insert(turkish);
  await store.insert(contested, { claimsEmail: 'unconfirmed' });
  const keysOf = async ({ id }: { id: string }) => {
    const stored = await collection.findOne({ _id: id as never });
    return [stored?.username_key, stored?.email_key];
  };
  const keys = [await keysOf(turkish), await keysOf(contested)];
  t.match(keys, [
    ['ılgın', 'ı@example.org'],
    [contested.id, `ı@example.org\0${contested.id}`],
  ]);
  await collection.updateOne(
    { _id: turkish.id as never },
    { $set: { username_key: 'ilgin', email_key: 'i@example.org' } },
  );
  await applyMigrations(connection, USER_MIGRATIONS);
  await applyMigrations(connection, USER_MIGRATIONS);
  t.notOk((await collection.indexes()).some(({ name }) => name === 'username_key_1'));
  t.strictSame([await keysOf(turkish), await keysOf(contested)], keys, 'keys of the earlier case folding');
  const byEmail = { conditions: [], sort: { field: 'email', descending: false } } as const;
  const { items } = await store.byKeyset(byEmail, { limit: 100 });
  t.ok(
    items.some(({ id }) => id === addressless.id),
    'nobody is lost from the list by addresses',
  );
  for (const gone of [user(), user()]) {
    await store.insert(gone);
    await store.remove(gone.id);
  }
});

t.test('the outbox has the index for its relay', async (t) => {
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
    taken: await plan(
      find({ $or: [{ username_key: folded }, { email_key: folded }] }).explain('queryPlanner'),
    ),
    otherAdmin: await plan(find({ ...ACTIVE_ADMINS, _id: { $ne: 'x' } }).explain('queryPlanner')),
    verifyEmail: await plan(find({ _id: 'x', ...living, email: 'x' }).explain('queryPlanner')),
  };
  for (const [name, text] of Object.entries(plans)) {
    t.match(text, /IXSCAN|COUNT_SCAN|IDHACK|EXPRESS/, name);
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
    ['ΣΊΣΥΦΟΣ.Α', 'σίσυφος.α'],
    ['İ', 'i\u0307'],
    ['ſ', 's'],
    ['Ꭰ', 'ꭰ'],
    ['\u0345', 'ι'],
    ['ᾼ', 'αι'],
    ['a\u200db', 'AB'],
  ] as const) {
    t.equal(foldedKey(a), foldedKey(b), `${a} ${b}`);
  }
  for (const [a, b] of [
    ['ann', 'an'],
    ['ı', 'i'],
    ['I', 'ı'],
    ['İ', 'i'],
  ] as const) {
    t.not(foldedKey(a), foldedKey(b), `${a} ${b}`);
  }
});
