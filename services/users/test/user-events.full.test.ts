import { createLocalEvents } from '@gatehouse/events/local-events';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { build } from './build.ts';

const events = createLocalEvents();
const { issuer, identity, mongodbUri, call, machine, created } = await build(t, { events });
const { connection } = await startTestDatabase(t, { uri: mongodbUri });
const collection = connection.collection<{ _id: string; outbox?: unknown[] }>('users');
t.afterEach(() => identity.comeBack());

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
      // For the mail to the person.
      ...(method === 'DELETE' ? ['previous_username'] : []),
      'reason',
      'sign_in_epoch',
      'user_id',
    ]);
  }
  await until(async () => (await collection.findOne({ _id: id })) === null, 5000);
});

t.test('changes that are only recorded are sent to identity, and end nothing', async (t) => {
  const { id, path } = await created();
  const token = await issuer.person(id, 'user', 'read:users');
  for (let i = 0; i < 2; i += 1)
    t.equal((await call('PUT', path, machine, { username: 'renamed' })).status, 200);
  await call('PUT', `${path}/status`, machine, { status: 'active' });
  const by = { user_id: null, client_id: 'app_test', address: '127.0.0.1', user_agent: 'node' };
  await until(() => newsOf(id).length > 0, 5000);
  t.match(newsOf(id), [{ reason: 'username', epoch: 0, sign_in_epoch: 0, by }]);
  t.equal(newsOf(id).length, 1);
  t.equal((await call('GET', path, token)).status, 200, 'the token is accepted');
  const agent = await issuer.sign({
    ...{ sub: id, client_id: 'app_2', scope: 'write:users', roles: ['user'] },
    act: { sub: 'app_2', act: { sub: 'app_1' } },
  });
  t.equal((await call('PUT', path, agent, { username: 'renamed2' })).status, 200);
  await until(() => newsOf(id).length > 1, 5000);
  t.match(newsOf(id)[1], { by: { user_id: id, client_id: 'app_2', actors: ['app_2', 'app_1'] } });

  const draft = { username: 'boss', email: 'boss@example.org', password: 'correct horse' };
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
