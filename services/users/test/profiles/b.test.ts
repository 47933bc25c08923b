import t from 'tap';
import { ALL, build, PASSWORD } from '../build.ts';

const { issuer, call, machine, created: createdUser, account, signedIn } = await build(t);

async function created(prefix = '/v2/users') {
  const user = await createdUser();
  return { ...user, path: `${prefix}/${user.id}`, token: await issuer.person(user.id, 'user', ALL) };
}

for (const prefix of ['/v2/users', '/users']) {
  t.test(`${prefix}: people change their own fields, but not their role or status`, async (t) => {
    const bee = await created(prefix);
    const { path, token } = bee;
    // Like a client that sends back everything that it has read.
    const { body: read } = await call('GET', `/v2/users/${bee.id}`, token);
    const sentBack = await call('PUT', path, token, { ...read, profile: { first_name: 'Bee' } });
    t.equal(sentBack.status, 200);
    t.same(sentBack.body.profile, { first_name: 'Bee', last_name: null });
    const status = await call('PUT', path, token, { status: 'inactive', username: 'bee-renamed' });
    t.equal(status.status, 403);
    t.match(status.body.error, { code: 'forbidden', message: /statuses/ });
    const password = await call('PUT', path, token, { password: 'another horse' });
    t.equal(password.status, 400, 'one’s own password needs the current one');
    t.match(password.body.error, { code: 'invalid_parameter', details: [{ field: 'password' }] });
    t.match(await account(bee.id), { username: bee.username, status: 'active', epoch: 0, role: 'user' });
    for (const field of [{ role: 'admin' }, { email_verified: true }, { epoch: 9 }]) {
      t.equal((await call('PUT', path, token, field)).status, 400, 'no such field');
    }
    t.equal(
      (await call('PUT', path, token, { id: 'usr_x' })).status,
      200,
      'it was read, and cannot be changed',
    );
    t.match(await account(bee.id), { id: bee.id, role: 'user', email_verified: false, epoch: 0 });
    t.ok(await signedIn(bee.username, PASSWORD));
  });

  t.test(`${prefix}: admins and machines set password and status at once`, async (t) => {
    const admin = await issuer.person('usr_admin', 'admin', ALL);
    for (const token of [machine, admin]) {
      const bee = await created(prefix);
      const short = await call('PUT', bee.path, token, { password: 'short', status: 'inactive' });
      t.equal(short.status, 400);
      t.match(await account(bee.id), { status: 'active', epoch: 0 }, 'all or nothing');
      const both = { password: 'another horse', status: 'inactive', profile: { last_name: 'Hive' } };
      const { status, body } = await call('PUT', bee.path, token, both);
      t.equal(status, 200);
      t.match(body, { status: 'inactive', profile: { last_name: 'Hive' } });
      t.notMatch(JSON.stringify(body), /horse|argon/);
      t.match(await account(bee.id), { epoch: 2, sign_in_epoch: 2 }, 'tokens and sessions are over');
      t.equal((await call('GET', `/v2/users/${bee.id}`, bee.token)).status, 401, 'here at once');
      t.equal(await signedIn(bee.username, 'another horse'), null, 'inactive');
      await call('PUT', bee.path, token, { status: 'active' });
      t.match(await signedIn(bee.username, 'another horse'), { id: bee.id });
      t.equal(await signedIn(bee.username, PASSWORD), null);
    }
  });
}

t.test('an admin’s own password needs the current one, too', async (t) => {
  const bee = await created();
  await call('PUT', `/v1/users/${bee.id}/role`, machine, { role: 'admin' });
  const { epoch } = await account(bee.id);
  const token = await issuer.sign({
    sub: bee.id,
    client_id: 'app_web',
    roles: ['admin'],
    scope: ALL,
    epoch: { client: 0, subject: epoch },
  });
  t.equal((await call('PUT', bee.path, token, { password: 'another horse' })).status, 400);
  t.equal((await call('PUT', bee.path, token, { profile: { first_name: 'Ad' } })).status, 200);
});

t.test('names are set and removed', async (t) => {
  const { path, username } = await created();
  const put = async (profile: object) => (await call('PUT', path, machine, { profile })).body.profile;
  const nameOf = async () => (await call('GET', path.replace('/v2', ''), machine)).body.name;
  t.same(await put({ first_name: 'Bea', last_name: 'Hive' }), { first_name: 'Bea', last_name: 'Hive' });
  t.equal(await nameOf(), 'Bea Hive');
  t.same(await put({ first_name: null }), { first_name: null, last_name: 'Hive' });
  t.same(await put({}), { first_name: null, last_name: 'Hive' });
  t.equal(await nameOf(), 'Hive');
  t.same(await put({ last_name: null }), { first_name: null, last_name: null });
  t.equal(await nameOf(), username);
  for (const bad of [{ first_name: '' }, { first_name: 'x'.repeat(201) }, { last_name: 1 }, 'x', null]) {
    t.equal((await call('PUT', path, machine, { profile: bad })).status, 400, JSON.stringify(bad));
  }
});
