import { OUTBOX_INDEX, type OutboxEvent } from '@gatehouse/data/outbox';
import { createLocalEvents, type EventTransport } from '@gatehouse/events/local-events';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { createRevocationSet } from '@gatehouse/verify/revocations';
import t, { type Test } from 'tap';
import { createUserStore } from '../src/store/user-store.ts';
import type { AccountChanged } from '../src/user.ts';
import { createAccountEvents } from '../src/user-events.ts';
import { userRecord } from './store/user-record.ts';

type Stored = { _id: string; outbox?: OutboxEvent[] };

/** The store with its events, an identity that can go away, and who listens unless nobody is to. */
async function setUp(t: Test, transport?: EventTransport) {
  const { store, connection } = await startTestDatabase(t, { define: createUserStore });
  const collection = connection.collection<Stored>('users');

  const told: Record<string, unknown>[] = [];
  const identity = {
    /** While it is away. */
    back: undefined as Promise<void> | undefined,
    /** A reason. */
    refuses: undefined as string | undefined,
    refused: 0,
    async request(_method: string, _path: string, body?: unknown) {
      await identity.back;
      if (Object(body).reason === identity.refuses) {
        identity.refused += 1;
        throw new Error('not now');
      }
      told.push(body as Record<string, unknown>);
      return { status: 204, body: undefined };
    },
  };
  const events = createAccountEvents({
    connection: connection,
    client: identity,
    revocations: createRevocationSet(),
    logger,
    transport,
  });
  t.teardown(() => events.stop());
  const waiting = () => collection.countDocuments(OUTBOX_INDEX.options.partialFilterExpression);
  return { users: events.publishing(store), store, events, identity, told, collection, waiting };
}

const BY = {
  ...{ user_id: 'usr_admin', client_id: 'app_1', address: '192.0.2.1' },
  ...{ user_agent: 'Browser/1', request_id: 'req_1' },
};

const BY_AGENT = { ...BY, actors: ['app_2', 'app_1'] };

let count = 0;
function somebody() {
  count += 1;
  const username = `secret-name-${count}`;
  const email = `secret-address-${count}@example.org`;
  return { ...userRecord({ username, email, name: 'Secret Name' }), passwordHash: 'secret-hash' };
}

t.test('each write is published, without personal data', async (t) => {
  const local = createLocalEvents();
  const taken: OutboxEvent[] = [];
  local.subscribe('users.user.*', (event) => taken.push(event));
  const { users, told, collection, waiting } = await setUp(t, local);
  const user = somebody();
  const { id, email } = user;
  const steps: [write: () => Promise<unknown>, event: { subject: string; data: object }][] = [
    [() => users.insert(user), { subject: 'users.user.created', data: { user_id: id, version: 1 } }],
    [
      () => users.update(id, { name: 'Secret Other', username: user.username }, undefined, BY_AGENT),
      { subject: 'users.user.changed', data: { version: 2, changed: ['name'], actors: BY_AGENT.actors } },
    ],
    [
      () => users.verifyEmail(id, email ?? ''),
      { subject: 'users.user.changed', data: { version: 3, changed: ['email_verified'] } },
    ],
    [
      () => users.changeSecurity(id, { reason: 'role', role: 'editor' }),
      { subject: 'users.user.changed', data: { version: 4, changed: ['role'] } },
    ],
    [
      () => users.changeSecurity(id, { reason: 'password', passwordHash: 'secret-hash-2' }),
      { subject: 'users.user.changed', data: { version: 5, changed: ['password'] } },
    ],
    [() => users.remove(id), { subject: 'users.user.deleted', data: { user_id: id, version: 6 } }],
  ];
  for (const [i, [write, expected]] of steps.entries()) {
    const before = Date.now();
    await write();
    // Nothing sweeps here: it was sent with the write.
    await until(() => taken.length === i + 1, 5000);
    const event = taken[i];
    t.match(event, { id: /^evt_/, at: Date, ...expected });
    t.ok(Math.abs((event?.at.getTime() ?? 0) - before) < 5000);
    t.same(event?.data, { user_id: id, ...expected.data });
  }
  t.notMatch(JSON.stringify(taken), /secret/i);
  t.same(told, [], 'identity is told by publishAccountChange');
  t.equal(await waiting(), 1, 'and until then what is left of the deleted stays');
  t.same(Object.keys((await collection.findOne({ _id: id })) ?? {}).sort(), [
    '_id',
    'deleted_at',
    'epoch',
    'outbox',
    'sign_in_epoch',
    'version',
  ]);
});

t.test('identity and subscribers do not wait for each other', async (t) => {
  const local = createLocalEvents();
  const taken: string[] = [];
  let away = false;
  local.subscribe('users.user.*', ({ subject, data }) => {
    if (away) throw new Error('not now');
    taken.push(`${subject} ${data.user_id}`);
  });
  const { users, events, identity, told, collection } = await setUp(t, local);
  const [first, second] = [somebody(), somebody()];
  for (const user of [first, second]) await users.insert(user);
  await until(() => taken.length === 2, 5000);

  const { promise, resolve: comeBack } = Promise.withResolvers<void>();
  identity.back = promise;
  const begin = performance.now();
  const gone = await users.remove(first.id);
  if (gone !== undefined) await events.publishAccountChange(gone);
  t.ok(performance.now() - begin < 3000, 'it waits for identity for a moment only');
  await until(() => taken.includes(`users.user.deleted ${first.id}`), 5000);
  const left = (await collection.findOne({ _id: first.id }))?.outbox;
  t.match(left, [{ subject: 'users.account.changed' }], 'only identity has to learn of it');
  t.equal(left?.length, 1);

  identity.back = undefined;
  comeBack();
  await until(() => told.length === 1, 5000);
  away = true;
  const other = await users.remove(second.id);
  if (other !== undefined) await events.publishAccountChange(other);
  t.match(told, [{ user_id: first.id }, { user_id: second.id, reason: 'deleted', epoch: 1 }]);
  t.match((await collection.findOne({ _id: second.id }))?.outbox, [{ subject: 'users.user.deleted' }]);

  away = false;
  events.start();
  await until(async () => (await collection.findOne({ _id: second.id })) === null, 10_000);
  t.ok(taken.includes(`users.user.deleted ${second.id}`));
});

t.test('nothing waits for what is only recorded: neither its request, nor what ends tokens', async (t) => {
  const { users, events, identity, told, waiting } = await setUp(t);
  const user = somebody();
  const published = async (changes: readonly AccountChanged[]) => {
    const begin = performance.now();
    for (const change of changes) await events.publishAccountChange(change);
    return performance.now() - begin;
  };
  const { promise, resolve: comeBack } = Promise.withResolvers<void>();
  identity.back = promise;
  const { accountChanges } = await users.insert({ ...user, role: 'admin' });
  t.ok((await published(accountChanges)) < 250, 'identity is away');
  const renamed = await users.update(user.id, { username: 'secret-other' }, undefined, BY);
  t.ok((await published(renamed.events)) < 250);
  identity.refuses = 'created';
  identity.back = undefined;
  comeBack();
  const changed = await users.changeSecurity(user.id, { reason: 'role', role: 'user' });
  await published(changed?.events ?? []);
  t.match(told, [{ reason: 'role', epoch: 1 }]);
  identity.refuses = undefined;
  events.start();
  await until(async () => (await waiting()) === 0, 10_000);
  t.match(told, [
    { reason: 'role', epoch: 1 },
    { reason: 'created', details: { role: 'admin', status: 'active' }, epoch: 0 },
    { reason: 'username', epoch: 0, by: BY },
  ]);
});

t.test(
  'a change that a killed replica of identity did not receive is received by another before the response',
  async (t) => {
    const { users, events, identity, told } = await setUp(t);
    const user = somebody();
    await users.insert(user);
    identity.refuses = 'role';
    const [changed] = (await users.changeSecurity(user.id, { reason: 'role', role: 'editor' }))?.events ?? [];
    const published = events.publishAccountChange(changed as AccountChanged);
    await until(() => identity.refused > 0, 1000);
    identity.refuses = undefined;
    await published;
    t.match(told, [{ reason: 'role', epoch: 1 }]);
  },
);

t.test('without a transport the events are dropped', async (t) => {
  const { users, collection, waiting } = await setUp(t);
  const user = somebody();
  await users.insert(user);
  await users.update(user.id, { name: 'x' });
  await until(async () => (await waiting()) === 0, 5000);
  t.same((await collection.findOne({ _id: user.id }))?.outbox, []);
});

t.test('events that were stored and not sent are found at the next start', async (t) => {
  const local = createLocalEvents();
  const taken: string[] = [];
  local.subscribe('users.user.*', ({ subject }) => taken.push(subject));
  const { store, events, told, waiting } = await setUp(t, local);
  const user = somebody();
  // As if the process had been killed after each write.
  await store.insert(user);
  await store.update(user.id, { name: 'x' });
  await store.remove(user.id);
  t.equal(await waiting(), 1);
  events.start();
  await until(async () => (await waiting()) === 0, 10_000);
  t.same(taken, ['users.user.created', 'users.user.changed', 'users.user.deleted']);
  t.match(told, [{ user_id: user.id, reason: 'deleted' }]);
});

t.test('failed writes are not published', async (t) => {
  const local = createLocalEvents();
  const taken: string[] = [];
  local.subscribe('>', ({ subject }) => taken.push(subject));
  const { users, waiting } = await setUp(t, local);
  const user = somebody();
  await users.insert(user);
  await until(() => taken.length === 1, 5000);
  await t.rejects(users.insert({ ...somebody(), username: user.username }), { message: /taken/ });
  await t.rejects(users.update('usr_unknown', { name: 'x' }), { message: 'There is no such user.' });
  await t.rejects(users.remove('usr_unknown'), { message: 'There is no such user.' });
  await t.rejects(users.verifyEmail(user.id, 'other@example.org'), {
    message: 'This is not the current email address any more.',
  });
  t.equal(await users.changeSecurity(user.id, { reason: 'role', role: 'user' }), undefined);
  t.equal(await waiting(), 0);
  t.same(taken, ['users.user.created']);
});
