import type { OutboxEvent } from '@gatehouse/data/outbox';
import { createLocalEvents } from '@gatehouse/events/local-events';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { build } from './build.ts';

const events = createLocalEvents();
const { issuer, identity, mongodbUri, call, internal } = await build(t, { events });
const machine = await issuer.machine('read:users write:users');
const { connection } = await startTestDatabase(t, { uri: mongodbUri });
const collection = connection.collection<{ _id: string; outbox?: unknown[] }>('users');
t.afterEach(() => identity.comeBack());

let count = 0;
async function created() {
  count += 1;
  const draft = {
    username: `event${count}`,
    email: `event${count}@example.org`,
    password: 'correct horse',
  };
  const { status, body } = await call('POST', '/v1/users', machine, draft);
  if (status !== 201) throw new Error(`not created: ${status}`);
  return { ...body, path: `/v1/users/${body.id}` };
}

const newsOf = (id: string) => identity.changes.filter(({ user_id }) => user_id === id);

t.test('identity has received a change when it is answered', async (t) => {
  const { id, path } = await created();
  const changes: [string, string, unknown, object][] = [
    [
      'PUT',
      '/password',
      { new_password: 'another horse' },
      { reason: 'password', epoch: 1, sign_in_epoch: 1 },
    ],
    ['PUT', '/role', { role: 'editor' }, { reason: 'role', epoch: 2, sign_in_epoch: 1 }],
    ['PUT', '/status', { status: 'inactive' }, { reason: 'status', epoch: 3, sign_in_epoch: 2 }],
    ['PUT', '/status', { status: 'active' }, { reason: 'status', epoch: 4, sign_in_epoch: 2 }],
    ['DELETE', '', undefined, { reason: 'deleted', epoch: 5, sign_in_epoch: 3 }],
  ];
  for (const [i, [method, below, body, expected]] of changes.entries()) {
    t.equal((await call(method, path + below, machine, body)).status, 204);
    t.equal(newsOf(id).length, i + 1);
    t.match(newsOf(id)[i], { id: /^evt_/, user_id: id, at: /^\d{4}-.+Z$/, ...expected });
    const isFromOneToAnother = below === '/role' || below === '/status';
    t.same(Object.keys(newsOf(id)[i] ?? {}).sort(), [
      'at',
      'by',
      ...(isFromOneToAnother ? ['details'] : []),
      'epoch',
      'id',
      'reason',
      'sign_in_epoch',
      'user_id',
    ]);
  }
  await until(async () => (await collection.findOne({ _id: id })) === null, 5000);
});

t.test('also of a change together with other fields', async (t) => {
  for (let i = 0; i < 5; i += 1) {
    const { id } = await created();
    const change = { password: 'another horse', status: 'inactive', profile: { first_name: 'Ev' } };
    t.equal((await call('PUT', `/v2/users/${id}`, machine, change)).status, 200);
    t.same(
      newsOf(id).map(({ reason, epoch, sign_in_epoch }) => [reason, epoch, sign_in_epoch]),
      [
        ['status', 1, 1],
        ['password', 2, 2],
      ],
    );
  }
});

t.test('what is only recorded is told to identity, and ends nothing', async (t) => {
  const { id, path } = await created();
  const token = await issuer.person(id, 'user', 'read:users');
  await call('PUT', path, machine, { name: 'Some Body', username: `renamed${count}` });
  await call('PUT', path, machine, { name: 'Another' });
  await call('PUT', `${path}/status`, machine, { status: 'active' });
  const by = { user_id: null, client_id: 'app_test', address: '127.0.0.1', user_agent: 'node' };
  await until(() => newsOf(id).length > 0, 5000);
  t.match(newsOf(id), [{ reason: 'username', epoch: 0, sign_in_epoch: 0, by }]);
  t.equal(newsOf(id).length, 1);
  t.equal((await call('GET', path, token)).status, 200, 'the token is accepted');

  const draft = { username: `boss${count}`, email: `boss${count}@example.org`, password: 'correct horse' };
  const boss = await call('POST', '/kb/api/v1/users', machine, { ...draft, role: 'admin' });
  t.equal(boss.status, 201);
  await until(() => newsOf(boss.body.id).length > 0, 5000);
  const details = { role: 'admin', status: 'active' };
  t.match(newsOf(boss.body.id), [{ reason: 'created', epoch: 0, sign_in_epoch: 0, details, by }]);
});

t.test('while identity is unreachable, changes are made in time and delivered later', async (t) => {
  const changed = await created();
  const deleted = await created();
  const token = await issuer.person(changed.id, 'user', 'read:users');
  t.equal((await call('GET', changed.path, token)).status, 200);
  const { total } = (await call('GET', '/v1/users?limit=1', machine)).body.pagination;
  identity.leave('silent');

  const begin = performance.now();
  t.equal((await call('PUT', `${changed.path}/status`, machine, { status: 'inactive' })).status, 204);
  t.ok(performance.now() - begin < 1500, 'it waits for a moment only');
  t.equal((await call('GET', changed.path, token)).status, 401, 'here the token is dead already');
  t.equal((await call('DELETE', deleted.path, machine)).status, 204);
  t.same(newsOf(changed.id), []);

  t.equal((await call('GET', deleted.path, machine)).status, 404, 'nobody sees who was deleted');
  t.equal((await call('DELETE', deleted.path, machine)).status, 404);
  const page = await call('GET', '/v1/users?limit=100', machine);
  t.equal(page.body.pagination.total, total - 1);
  t.notOk(page.body.data.some(({ id }) => id === deleted.id));
  t.same(Object.keys((await collection.findOne({ _id: deleted.id })) ?? {}).sort(), [
    '_id',
    'deleted_at',
    'epoch',
    'outbox',
    'sign_in_epoch',
    'version',
  ]);
  const again = { username: deleted.username, email: deleted.email, password: 'correct horse' };
  t.equal((await call('POST', '/v1/users', machine, again)).status, 201, 'the names are free');

  identity.comeBack();
  await until(async () => newsOf(changed.id).length + newsOf(deleted.id).length === 2, 10_000);
  t.match(newsOf(changed.id), [{ reason: 'status', epoch: 1, sign_in_epoch: 1 }]);
  t.match(newsOf(deleted.id), [{ reason: 'deleted', epoch: 1, sign_in_epoch: 1 }]);
  await until(async () => (await collection.findOne({ _id: deleted.id })) === null, 10_000);
  await until(async () => (await collection.findOne({ _id: changed.id }))?.outbox?.length === 0, 10_000);
});

t.test('a lookup of a deleted user finds nothing', async (t) => {
  const { id, path, username } = await created();
  const token = await internal();
  t.equal((await call('GET', `/internal/users/accounts/${id}`, token)).status, 200);
  identity.leave('closed');
  t.equal((await call('DELETE', path, machine)).status, 204);
  const none = { status: 200, body: { account: null } };
  t.match(await call('POST', '/internal/users/account-lookups', token, { login: username }), none);
  const login = { login: username, password: 'correct horse' };
  t.match(await call('POST', '/internal/users/password-checks', token, login), none);
  const account = `/internal/users/accounts/${id}`;
  t.equal((await call('GET', account, token)).status, 404);
  t.equal((await call('PATCH', account, token, { name: 'x' })).status, 404);
  t.equal((await call('PUT', `${account}/password`, token, { new_password: 'another horse' })).status, 404);
  t.equal((await call('PUT', `${account}/verified-email`, token, { email: 'x@example.org' })).status, 404);
});

t.test('subscribers receive every write at once', async (t) => {
  const heard: OutboxEvent[] = [];
  t.teardown(events.subscribe('users.user.*', (event) => heard.push(event)));
  identity.leave('silent');
  const { id, path } = await created();
  const of = () => heard.filter(({ data }) => data.user_id === id);
  const steps: [method: string, below: string, body?: object][] = [
    ['PUT', '', { username: `heard${count}`, email: `event${count}@example.org` }],
    ['PUT', '/password', { new_password: 'another horse' }],
    ['PUT', '/role', { role: 'editor' }],
    ['PUT', '/status', { status: 'inactive' }],
    // It is so already: nothing is written.
    ['PUT', '/status', { status: 'inactive' }],
    ['DELETE', ''],
  ];
  for (const [method, below, body] of steps) {
    t.ok((await call(method, path + below, machine, body)).status < 300);
  }
  await until(() => of().length === 6, 5000);
  t.same(
    of().map(({ subject, data }) => [subject, data.version, data.changed]),
    [
      ['users.user.created', 1, undefined],
      ['users.user.changed', 2, ['username']],
      ['users.user.changed', 3, ['password']],
      ['users.user.changed', 4, ['role']],
      ['users.user.changed', 5, ['status']],
      ['users.user.deleted', 6, undefined],
    ],
  );
  t.same(newsOf(id), [], 'identity is away all the while');
  identity.comeBack();
  await until(async () => (await collection.findOne({ _id: id })) === null, 15_000);
  const reasons = newsOf(id).map(({ reason }) => reason);
  t.same(
    reasons.filter((reason) => reason !== 'username'),
    ['password', 'role', 'status', 'deleted'],
  );
  t.equal(reasons.length, 5, 'and of the username, in whatever order');
});

t.test('a failing subscriber does not delay writes, and gets the event later', async (t) => {
  let away = true;
  const heard: unknown[] = [];
  const leave = events.subscribe('users.user.created', ({ data }) => {
    if (away) throw new Error('not now');
    heard.push(data.user_id);
  });
  t.teardown(leave);
  const { id } = await created();
  t.equal((await collection.findOne({ _id: id }))?.outbox?.length, 1);
  away = false;
  await until(() => heard.includes(id), 10_000);
});
