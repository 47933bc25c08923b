import { createWireRow } from '@gatehouse/testing/wire-snapshot';
import t from 'tap';
import { ALL, build, PASSWORD as password } from '../build.ts';

/**
 * What goes over the wire for each row of the interface about users (2.4, 2.8 and 4.2): request, status, the headers
 * that mean something, and the body. A snapshot that changes is an interface that changes.
 */

t.snapshotFile = new URL('wire.snapshot.cjs', import.meta.url);

const { issuer, call, machine, pinned } = await build(t);
const tokens = {
  machine,
  'machine without scopes': await issuer.machine('openid'),
  'somebody else': await issuer.person('usr_somebody_else', 'user', ALL),
  'pinned to E': await pinned({ v1_users: 'E' }),
  'pinned to G': await pinned({ v1_users: 'G' }),
  'pinned to B1': await pinned({ v2_users: 'B1' }),
  nobody: undefined,
};
const row = createWireRow(call, tokens);

const UNKNOWN = 'usr_unknown';

t.test('no users yet', async (t) => {
  for (const path of ['/v1/users', '/v1/users?page=1', '/v2/users', '/v2/users?offset=0', '/users']) {
    await row(t, 'machine', 'GET', path);
    await row(t, 'machine', 'GET', `${path.split('?')[0]}?cursor=`);
  }
});

t.test('profile A', async (t) => {
  const path = '/v1/users';
  const ann = { username: 'ann', email: 'ann@example.org', password };
  await row(t, 'nobody', 'POST', path, ann);
  await row(t, 'machine without scopes', 'POST', path, ann);
  await row(t, 'somebody else', 'POST', path, ann);
  const id = await row(t, 'machine', 'POST', path, ann);
  await row(t, 'machine', 'POST', path, { username: 'amy', email: 'amy@example.org', password });
  await row(t, 'machine', 'POST', path, { username: 'x' });
  await row(t, 'machine', 'POST', path, { ...ann, email: 'no address', password: 'short' });
  await row(t, 'machine', 'POST', path, { ...ann, email: 'other@example.org' });
  await row(t, 'machine', 'POST', path, { ...ann, username: 'other' });

  await row(t, 'machine', 'GET', path);
  await row(t, 'machine', 'GET', `${path}?limit=1&offset=1`);
  await row(t, 'machine', 'GET', `${path}?limit=1&cursor=`);
  await row(t, 'machine', 'GET', `${path}?filter[username]=ann`);
  await row(t, 'machine', 'GET', `${path}?username=ann`);
  for (const bad of [
    'limit=0',
    'limit=101',
    'limit=x',
    'offset=-1',
    'offset=10001',
    'cursor=x',
    'filter[role]=admin',
  ]) {
    await row(t, 'machine', 'GET', `${path}?${bad}`);
  }
  await row(t, 'nobody', 'GET', path);
  await row(t, 'machine without scopes', 'GET', path);
  await row(t, 'somebody else', 'GET', path);

  await row(t, 'machine', 'GET', `${path}/${id}`);
  await row(t, 'nobody', 'GET', `${path}/${id}`);
  await row(t, 'machine without scopes', 'GET', `${path}/${id}`);
  await row(t, 'somebody else', 'GET', `${path}/${id}`);
  await row(t, 'machine', 'GET', `${path}/${UNKNOWN}`);

  await row(t, 'machine', 'PUT', `${path}/${id}`, { username: 'anna', email: 'anna@example.org' });
  await row(t, 'machine', 'PUT', `${path}/${id}`, { username: '' });
  await row(t, 'machine', 'PUT', `${path}/${id}`, { username: 'amy' });
  await row(t, 'machine', 'PUT', `${path}/${id}`, { email: 'amy@example.org' });
  await row(t, 'nobody', 'PUT', `${path}/${id}`, {});
  await row(t, 'machine without scopes', 'PUT', `${path}/${id}`, {});
  await row(t, 'somebody else', 'PUT', `${path}/${id}`, {});
  await row(t, 'machine', 'PUT', `${path}/${UNKNOWN}`, {});

  await row(t, 'machine', 'PUT', `${path}/${id}/password`, { new_password: 'another horse' });
  await row(t, 'machine', 'PUT', `${path}/${id}/password`, { new_password: 'short' });
  await row(t, 'nobody', 'PUT', `${path}/${id}/password`, { new_password: 'another horse' });

  await row(t, 'nobody', 'DELETE', `${path}/${id}`);
  await row(t, 'machine without scopes', 'DELETE', `${path}/${id}`);
  await row(t, 'somebody else', 'DELETE', `${path}/${id}`);
  await row(t, 'machine', 'DELETE', `${path}/${id}`);
  await row(t, 'machine', 'DELETE', `${path}/${id}`);
  await row(t, 'machine', 'OPTIONS', path);
  await row(t, 'machine', 'PATCH', path, {});
});

t.test('profiles B1 and B2', async (t) => {
  const path = '/v2/users';
  const bob = {
    username: 'bob',
    email: 'bob@example.org',
    password,
    status: 'inactive',
    profile: { first_name: 'Bob', last_name: 'Stone' },
  };
  await row(t, 'nobody', 'POST', path, bob);
  await row(t, 'somebody else', 'POST', path, bob);
  const id = await row(t, 'machine', 'POST', path, bob);
  await row(t, 'machine', 'POST', path, { username: 'bea', email: 'bea@example.org', password });
  await row(t, 'machine', 'POST', path, {});
  await row(t, 'machine', 'POST', path, { ...bob, status: 'asleep', profile: { first_name: 1 } });
  await row(t, 'machine', 'POST', path, { ...bob, username: 'other' });

  await row(t, 'machine', 'GET', path);
  await row(t, 'machine', 'GET', `${path}?page=2&limit=2`);
  await row(t, 'machine', 'GET', `${path}?status=inactive`);
  await row(t, 'pinned to B1', 'GET', path);
  await row(t, 'machine', 'GET', `${path}?limit=1&offset=1`);
  await row(t, 'machine', 'GET', `${path}?offset=0&status=inactive`);
  await row(t, 'machine', 'GET', `${path}?offset=0&filter[status]=active`);
  await row(t, 'machine', 'GET', `${path}?limit=1&cursor=`);
  await row(t, 'pinned to B1', 'GET', `${path}?limit=1&cursor=`);
  for (const bad of ['status=asleep', 'page=0', 'limit=101', 'page=x', 'filter[password]=x', 'cursor=x']) {
    await row(t, 'machine', 'GET', `${path}?${bad}`);
  }
  await row(t, 'nobody', 'GET', path);
  await row(t, 'somebody else', 'GET', path);

  await row(t, 'machine', 'GET', `${path}/${id}`);
  await row(t, 'machine', 'GET', `${path}/${UNKNOWN}`);
  await row(t, 'nobody', 'GET', `${path}/${id}`);
  await row(t, 'machine', 'PUT', `${path}/${id}`, { status: 'active', profile: { last_name: 'Rock' } });
  await row(t, 'machine', 'PUT', `${path}/${id}`, { status: 'asleep' });
  await row(t, 'machine', 'PUT', `${path}/${id}`, { username: 'bea' });
  await row(t, 'machine', 'PUT', `${path}/${UNKNOWN}`, {});
  await row(t, 'machine', 'PUT', `${path}/${id}/password`, { new_password: 'another horse' });
  await row(t, 'machine', 'DELETE', `${path}/${id}`);
  await row(t, 'machine', 'DELETE', `${path}/${id}`);
});

t.test('profile C', async (t) => {
  const path = '/api/v1/users';
  const cat = { username: 'cat', email: 'cat@example.org', password };
  const id = await row(t, 'machine', 'POST', path, cat);
  await row(t, 'machine', 'POST', path, { username: 'x' });
  await row(t, 'machine', 'POST', path, { ...cat, email: 'no address' });
  await row(t, 'machine', 'POST', path, { ...cat, email: 'other@example.org' });
  await row(t, 'machine', 'POST', path, { ...cat, username: 'other' });
  await row(t, 'nobody', 'POST', path, cat);
  await row(t, 'machine', 'GET', path);
  await row(t, 'machine', 'GET', `${path}?limit=1&offset=1`);
  await row(t, 'machine', 'GET', `${path}?limit=1&cursor=`);
  await row(t, 'machine', 'GET', `${path}?username=cat`);
  await row(t, 'machine', 'GET', `${path}?limit=x`);
  await row(t, 'machine', 'GET', `${path}/${id}`);
  await row(t, 'machine', 'GET', `${path}/${UNKNOWN}`);
  await row(t, 'nobody', 'GET', `${path}/${id}`);
  await row(t, 'machine', 'DELETE', `${path}/${id}`);
});

t.test('profile D, and what it lacks', async (t) => {
  const path = '/users';
  const id = await row(t, 'machine', 'POST', path, { name: 'Dan Gray' });
  await row(t, 'machine', 'POST', path, { name: 'Dan Gray' });
  await row(t, 'machine', 'POST', path, {});
  await row(t, 'nobody', 'POST', path, { name: 'Dan' });
  await row(t, 'machine', 'GET', path);
  await row(t, 'machine', 'GET', `${path}?limit=1&cursor=`);
  await row(t, 'machine', 'GET', `${path}?limit=1`);
  await row(t, 'machine', 'GET', `${path}/${id}`);
  await row(t, 'machine', 'GET', `${path}/${UNKNOWN}`);
  await row(t, 'machine', 'PUT', `${path}/${id}`, { email: 'dan@example.org' });
  await row(t, 'machine', 'PUT', `${path}/${id}`, { email: 'no address' });
  await row(t, 'machine', 'GET', `${path}/${id}`);
  await row(t, 'machine', 'PUT', `${path}/${id}/password`, { new_password: 'short' });
  await row(t, 'machine', 'DELETE', `${path}/${id}`);
});

t.test('profile E', async (t) => {
  const path = '/v1/users';
  const eve = { email: 'eve@example.org', name: 'Eve Moon', password };
  const id = await row(t, 'machine', 'POST', path, eve);
  await row(t, 'pinned to E', 'POST', path, { ...eve, name: 'Eve Two', email: 'eve2@example.org' });
  await row(t, 'machine', 'POST', path, { name: 'Eve' });
  await row(t, 'machine', 'POST', path, { ...eve, email: 'no address' });
  await row(t, 'machine', 'POST', path, eve);
  await row(t, 'nobody', 'POST', path, eve);
  await row(t, 'machine', 'PATCH', `${path}/${id}`, { name: 'Eve Sun' });
  await row(t, 'machine', 'PATCH', `${path}/${id}`, { name: '' });
  await row(t, 'machine', 'PATCH', `${path}/${id}`, { name: 1 });
  await row(t, 'nobody', 'PATCH', `${path}/${id}`, { name: 'Eve' });
  await row(t, 'machine', 'PATCH', `${path}/${UNKNOWN}`, { name: 'Eve' });
  await row(t, 'nobody', 'DELETE', `${path}/${id}`);
  await row(t, 'pinned to E', 'DELETE', `${path}/${id}`);
  await row(t, 'pinned to E', 'DELETE', `${path}/${id}`);
});

t.test('profile F', async (t) => {
  const path = '/kb/api/v1/users';
  const fay = { username: 'fay', email: 'fay@example.org', password };
  await row(t, 'machine', 'POST', path, fay);
  await row(t, 'machine', 'POST', path, {
    ...fay,
    username: 'fox',
    email: 'fox@example.org',
    role: 'editor',
  });
  await row(t, 'machine', 'POST', path, { username: 'x' });
  await row(t, 'machine', 'POST', path, { ...fay, role: 'owner' });
  await row(t, 'machine', 'POST', path, { ...fay, email: 'other@example.org' });
  await row(t, 'machine', 'POST', path, { ...fay, username: 'other' });
  await row(t, 'nobody', 'POST', path, fay);
  await row(t, 'machine', 'GET', `${path}?filter[username]=fay,fox`);
  await row(t, 'machine', 'GET', `${path}?filter[username]=fay,fox&sortBy=username&sortOrder=desc`);
  await row(t, 'machine', 'GET', `${path}?sortBy=createdAt&sortOrder=desc&limit=1&offset=1`);
  await row(t, 'machine', 'GET', `${path}?sortBy=username&limit=1&cursor=`);
  await row(t, 'machine', 'GET', `${path}?sortBy=password`);
  await row(t, 'machine', 'GET', `${path}?sortOrder=up`);
  await row(t, 'nobody', 'GET', path);
});

t.test('profile G', async (t) => {
  const path = '/v1/users';
  const gil = { name: 'Gil West', email: 'gil@example.org', password };
  await row(t, 'pinned to G', 'POST', path, gil);
  await row(t, 'pinned to G', 'POST', path, { name: 'Gil' });
  await row(t, 'pinned to G', 'POST', path, gil);
  await row(t, 'pinned to G', 'GET', path);
  await row(t, 'machine', 'GET', `${path}?page=2&limit=1`);
  await row(t, 'machine', 'GET', `${path}?page=1&filter[email]=gil@example.org`);
  await row(t, 'pinned to G', 'GET', `${path}?limit=1&cursor=`);
  await row(t, 'machine', 'GET', `${path}?page=0`);
  await row(t, 'machine', 'GET', `${path}?page=x`);
});
