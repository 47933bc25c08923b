import { domainToASCII } from 'node:url';
import { ERASING_SERVICES } from '@gatehouse/core/services';
import { OUTBOX_INDEX, type OutboxEvent } from '@gatehouse/data/outbox';
import { emailKey, foldedKey } from '@gatehouse/domain/folded-key';
import type { RequestedBy } from '@gatehouse/server/requests';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { ACTIVE_ADMINS } from '../../src/store/user-document.ts';
import { createUserStore } from '../../src/store/user-store.ts';
import { TakenError, userOf, WrongPasswordError } from '../../src/user.ts';
import { userRecord } from './user-record.ts';

const { store, connection } = await startTestDatabase(t, {
  uri: monitored(await testDatabase(t)),
  define: (connection) => createUserStore(connection),
});
const collection = connection.collection('users');

/** The events that wait in a document. */
async function outboxOf(id: string): Promise<OutboxEvent[]> {
  return (await collection.findOne({ _id: id as never }))?.outbox ?? [];
}

t.test('a user comes back as stored, without the password hash', async (t) => {
  const { passwordHash, ...inserted } = userRecord({
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

t.test('a freed username is held for its former owner', async (t) => {
  const [owner, other] = [userRecord(), userRecord()];
  for (const user of [owner, other]) await store.insert(user);
  const { id, username } = owner;
  await store.update(id, { username: `${id}-new` });
  const queries = await explainQueries(connection, async () => {
    t.same(await store.findTaken({ username: username.toUpperCase() }), ['username']);
  });
  for (const { stages } of queries) t.notMatch(stages, /COLLSCAN/);
  await t.rejects(store.update(other.id, { username }), new TakenError('username'));
  t.same(await store.insertFree([userRecord({ username }), userRecord()]), [false, true]);
  t.match(await store.update(id, { username }), { user: { username } }, 'who may change back');
  await store.update(id, { username: `${id}-new` });
  await collection.updateOne({ _id: id as never }, { $set: { username_held_until: new Date() } });
  t.match(await store.update(other.id, { username }), { user: { username } }, 'for a time');
  await store.update(other.id, { username: other.username });
  await store.remove(other.id);
  t.same(await store.insertFree([userRecord({ username })]), [true], 'a deleted account holds nothing');
});

t.test('several users without an address, but no address twice', async (t) => {
  await store.insert(userRecord({ email: null }));
  await store.insert(userRecord({ email: null }));
  const first = userRecord();
  await store.insert(first);
  await t.rejects(store.insert(userRecord({ email: first.email })), new TakenError('email'));
  await t.rejects(store.insert(userRecord({ username: first.username })), new TakenError('username'));
  const second = userRecord();
  await store.insert(second);
  const username = first.username.toUpperCase();
  const email = first.email?.toUpperCase() ?? '';
  await t.rejects(store.insert(userRecord({ username })), new TakenError('username'), 'in any spelling');
  t.match(await store.update(first.id, { username }), { user: { username } }, 'a spelling of the own name');
  t.same(await store.findTaken({ username, email: 'free@example.org' }), ['username']);
  t.same(await store.findTaken({ username: 'free', email }), ['email']);
  t.same(await store.findTaken({ username: second.username, email }), ['username', 'email'], 'of two people');
  t.same(await store.findTaken({ username: 'free', email: 'free@example.org' }), []);
  t.same(await store.findTaken({ username, email: null }), ['username']);
  t.same(await store.findTaken({ email }), ['email']);
  t.same(await store.findTaken({ email: null }), []);
});

t.test('an address is one account, however its domain is written', async (t) => {
  const labels = 'ÜBER.example';
  const email = `Ann@${labels}`;
  const { id, ...rest } = userRecord({ email, emailVerified: true });
  await store.insert({ id, ...rest });
  const same = `ANN@${domainToASCII(labels)}`;
  t.same(await store.findTaken({ email: same }), ['email']);
  await t.rejects(store.insert(userRecord({ email: same })), new TakenError('email'));
  t.match(await store.findByLogin({ emailKey: emailKey(same) }), { user: { id, email } }, 'as typed');
  t.equal(await store.count([{ field: 'email', operator: 'eq', values: [same] }]), 1);
  await store.update(id, { email: same });
  await store.insert(userRecord({ email: 'x@straße.example' }));
  await store.insert(userRecord({ email: 'x@strasse.example' }));
});

t.test('an update that conflicts with another user changes nothing', async (t) => {
  const [a, b] = [userRecord(), userRecord()];
  await store.insert(a);
  await store.insert(b);
  await t.rejects(store.update(b.id, { username: 'changed', email: a.email ?? '' }), new TakenError('email'));
  t.match(await store.findById(b.id), { username: b.username, email: b.email, updatedAt: b.updatedAt });
});

t.test('a derived name follows its sources', async (t) => {
  const { id, ...rest } = userRecord();
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
  const { id, email, ...rest } = userRecord({ username: 'Login' });
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

t.test('each write stores what it changes, its version and its events, in this order', async (t) => {
  const draft = userRecord({ epoch: 4, signInEpoch: 2 });
  const { id, email } = draft;
  const security = (change: Parameters<typeof store.changeSecurity>[1]) => store.changeSecurity(id, change);
  const all = { role: 'editor', status: 'inactive', passwordHash: '$new', username: `$new-${id}` } as const;
  const writes: [write: () => Promise<unknown>, user: object, hash: string, events: string[]][] = [
    [() => store.insert(draft), { epoch: 4, signInEpoch: 2 }, 'hash', ['created']],
    [() => store.verifyEmail(id, email ?? ''), { emailVerified: true }, 'hash', ['changed email_verified']],
    [() => store.update(id, { phone: '+4912345', role: 'user' }), { epoch: 4 }, 'hash', ['changed phone']],
    [() => store.update(id, {}), { phone: '+4912345', epoch: 4 }, 'hash', ['changed ']],
    [
      () => store.update(id, all),
      { role: 'editor', status: 'inactive', username: `$new-${id}`, epoch: 7, signInEpoch: 4 },
      '$new',
      ['username 4 2', 'role 5 2', 'status 6 3', 'password 7 4', 'changed username,role,status,password'],
    ],
    [
      () => security({ reason: 'status', status: 'active' }),
      { status: 'active', epoch: 8, signInEpoch: 4 },
      '$new',
      ['status 8 4', 'changed status'],
    ],
    [
      () => security({ reason: 'password', passwordHash: 'newer', currentHash: '$new' }),
      { epoch: 9, signInEpoch: 5 },
      'newer',
      ['password 9 5', 'changed password'],
    ],
  ];
  const stored: string[] = [];
  for (const [i, [write, expected, hash, events]] of writes.entries()) {
    await write();
    t.match(await store.findById(id), { ...expected, version: i + 1 });
    t.equal(await store.passwordHashOf(id), hash);
    stored.push(...events.map((event) => (/^c/.test(event) ? `${i + 1} ${event}` : event)));
  }
  t.equal(await security({ reason: 'role', role: 'editor' }), undefined, 'what is so already');
  t.equal(await security({ reason: 'status', status: 'active' }), undefined);
  const outdated = { reason: 'password', passwordHash: 'x', currentHash: '$new' } as const;
  await t.rejects(security(outdated), new WrongPasswordError());
  const outbox = await outboxOf(id);
  t.strictSame(
    outbox.map(({ subject, data: { version, changed, reason, epoch, sign_in_epoch: signInEpoch } }) =>
      subject.startsWith('users.account.')
        ? `${reason} ${epoch} ${signInEpoch}`
        : `${version} ${subject.replace('users.user.', '')}${changed ? ` ${changed}` : ''}`,
    ),
    stored,
  );
  t.ok(outbox.every((it) => /^evt_[0-9a-z]{26}$/.test(it.id) && it.at instanceof Date));
  t.equal(new Set(outbox.map((it) => it.id)).size, outbox.length);
  t.notMatch(JSON.stringify(outbox), /\$new|newer/, 'no value');
});

t.test('a write is made only at the given versions', async (t) => {
  const { id, ...rest } = userRecord();
  await store.insert({ id, ...rest });
  const meanwhile = { kind: 'precondition_failed', message: 'This user has been changed meanwhile.' };
  await t.rejects(store.update(id, { name: 'x' }, [2, 3]), meanwhile);
  await t.rejects(store.remove(id, [0]), meanwhile);
  t.match(await store.update(id, { name: 'x' }, [1, 2]), { user: { version: 2 } });
  await t.rejects(store.changeSecurity(id, { reason: 'role', role: 'admin' }, [1]), meanwhile);
  t.match(await store.remove(id, [2]), { userId: id });
});

t.test('a deletion keeps the epochs and the events, and no personal data', async (t) => {
  const { id, ...rest } = userRecord({ epoch: 1, emailVerified: true, phone: '+4912345' });
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
  await store.insert(userRecord({ username: rest.username, email: rest.email }));
  await store.remove((await store.findByLogin({ usernameKey: foldedKey(rest.username) }))?.user.id ?? '');
});

t.test('the outbox has the index for its relay', async (t) => {
  const index = (await collection.indexes()).find(({ name }) => name === OUTBOX_INDEX.options.name);
  t.match(index, {
    key: OUTBOX_INDEX.fields,
    partialFilterExpression: OUTBOX_INDEX.options.partialFilterExpression,
  });
});

t.test('every query uses an index', async (t) => {
  const { id, username, email, ...rest } = userRecord({ role: 'admin' });
  await store.insert({ id, username, email, ...rest });
  const by = { user_id: 'usr_x' } as RequestedBy;
  const reads: Record<string, () => Promise<unknown>> = {
    byId: () => store.findById(id),
    byUsername: () => store.findByLogin({ usernameKey: foldedKey(username) }),
    byEmail: () => store.findByLogin({ emailKey: foldedKey(email ?? '') }),
    hash: () => store.passwordHashOf(id),
    taken: () =>
      Promise.all([{ username, email }, { username: 'other' }, { email }].map((it) => store.findTaken(it))),
    write: () => store.update(id, { status: 'inactive' }, undefined, by).catch(() => {}),
  };
  for (const [name, read] of Object.entries(reads)) {
    for (const { stages } of await explainQueries(connection, read)) {
      t.match(stages, /IXSCAN|IDHACK|EXPRESS/, name);
      t.notMatch(stages, /COLLSCAN|SORT/, name);
    }
  }
  const otherAdmin = collection.find({ ...ACTIVE_ADMINS, _id: { $ne: id as never } });
  t.match(JSON.stringify(await otherAdmin.explain('queryPlanner')), /IXSCAN/, 'another admin');
});
