import type { OutboxEvent } from '@gatehouse/data/outbox';
import { createLocalEvents } from '@gatehouse/events/local-events';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build } from '../build.ts';

const events = createLocalEvents();
const heard: OutboxEvent[] = [];
/** The handler fails the first times. */
let failures = 2;
events.subscribe('users.user.*', async (event) => {
  if (failures > 0) {
    failures -= 1;
    throw new Error('not now');
  }
  heard.push(event);
});
const { issuer, call } = await build(t, { events });
const machine = await issuer.machine('read:users write:users');
const password = 'correct horse';

/** What was heard of a user, once for each event, in order. */
const about = (id: string) => {
  const all = heard.filter(({ data }) => data.user_id === id);
  return [...new Map(all.map((event) => [event.id, event])).values()];
};

t.test('each write of each profile has an event, with its version and without personal data', async (t) => {
  const creates: [string, object][] = [
    ['/v1/users', { username: 'tell-a', email: 'tell-a@example.org', password }],
    ['/v1/users', { name: 'Tell E', email: 'tell-e@example.org', password }],
    ['/v2/users', { username: 'tell-b', email: 'tell-b@example.org', password }],
    ['/api/v1/users', { username: 'tell-c', email: 'tell-c@example.org', password }],
    ['/users', { name: 'Tell D' }],
    ['/kb/api/v1/users', { username: 'tell-f', email: 'tell-f@example.org', password }],
  ];
  for (const [path, draft] of creates) {
    const { body } = await call('POST', path, machine, draft);
    await until(() => about(body.id).length > 0, 10_000);
    t.same(
      about(body.id).map(({ subject, data }) => [subject, data]),
      [['users.user.created', { user_id: body.id, version: 1 }]],
      path,
    );
  }

  const { body } = await call('POST', '/v1/users', machine, {
    username: 'told',
    email: 'told@x.org',
    password,
  });
  const { id } = body;
  const writes: [string, string, object | undefined, string[] | undefined][] = [
    ['PUT', `/v1/users/${id}`, { username: 'retold', email: 'retold@x.org' }, ['username', 'email']],
    ['PATCH', `/v1/users/${id}`, { name: 'Re Told' }, ['name']],
    [
      'PUT',
      `/v2/users/${id}`,
      { status: 'inactive', profile: { first_name: 'Re' } },
      ['first_name', 'status'],
    ],
    ['PUT', `/v1/users/${id}/role`, { role: 'editor' }, ['role']],
    ['PUT', `/v2/users/${id}/status`, { status: 'active' }, ['status']],
    ['PUT', `/users/${id}/password`, { new_password: 'another horse' }, ['password']],
    ['DELETE', `/v2/users/${id}`, undefined, undefined],
  ];
  for (const [method, path, change] of writes) {
    const { status } = await call(method, path, machine, change);
    t.ok(status < 300, `${method} ${path} ${status}`);
  }
  await until(() => about(id).length === writes.length + 1, 10_000);
  const told = about(id);
  t.same(
    told.map(({ subject }) => subject),
    ['users.user.created', ...writes.slice(1).map(() => 'users.user.changed'), 'users.user.deleted'],
  );
  t.same(
    told.map(({ data }) => data.version),
    told.map((_, i) => i + 1),
    'versions follow each other',
  );
  t.same(
    told.slice(1, -1).map(({ data }) => (data.changed as string[]).toSorted()),
    writes.slice(0, -1).map(([, , , changed]) => changed?.toSorted()),
  );
  t.notMatch(JSON.stringify(heard), /tell-|told@|Told|horse|argon/, 'nothing about the person');
  // Rejected requests have no events.
  const before = heard.length;
  await call('PUT', `/v1/users/${id}`, machine, { username: 'x' });
  await call('POST', '/v1/users', machine, { username: 'tell-a', email: 'new@example.org', password });
  const { body: last } = await call('POST', '/users', machine, { name: 'Last' });
  await until(() => about(last.id).length === 1, 10_000);
  t.equal(heard.length, before + 1);
});
