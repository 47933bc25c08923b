import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, codeFor, MACHINE, PASSWORD, WEB } from '../../build.ts';

const built = await build(t);
const { people, browser, call, form, login, logIn } = built;
const log = (await built.database()).collection('audit_log');

/** The actions that were written down of this person, in their order. */
async function actionsOf(subject: string): Promise<string[]> {
  const entries = await log.find({ subject }).sort({ _id: 1 }).toArray();
  return entries.map(({ action }) => String(action));
}

t.test('who did what, when, from where', async (t) => {
  const begin = new Date();
  const visitor = browser();
  const code = await codeFor(visitor);
  const { body } = await form({ grant_type: 'authorization_code', code, ...WEB });
  const { client_id, client_secret } = WEB;
  await form({ token: String(body.access_token), client_id, client_secret }, {}, '/oauth2/revoke');
  const page = await visitor.get('/account/password');
  const passwords = { current_password: PASSWORD, new_password: 'another battery horse' };
  await visitor.submit(page, passwords, 'name="new_password"');
  await visitor.submit(await visitor.get('/account'), {}, '/account/sign-out');
  const expected = ['sign_in.succeeded', 'consent.granted', 'token.revoked', 'password.changed', 'sign_out'];
  await until(async () => (await actionsOf(people.ann.id)).length >= expected.length, 5000);
  t.same((await actionsOf(people.ann.id)).sort(), expected.toSorted());

  const [granted] = await log.find({ subject: people.ann.id, action: 'consent.granted' }).toArray();
  t.match(granted, { client: WEB.client_id, address: '127.0.0.1' });
  const at = granted?.at as Date;
  t.ok(at >= begin && at <= new Date());
  const stored = JSON.stringify(await log.find({}).toArray());
  for (const secret of [PASSWORD, 'another battery horse', String(body.access_token), client_secret]) {
    t.notOk(stored.includes(secret));
  }
});

t.test('a typed login is stored as a hash', async (t) => {
  const typed = 'a-password-in-the-wrong-field';
  await logIn(typed, 'x');
  await until(async () => (await log.countDocuments({ action: 'sign_in.failed' })) > 0, 5000);
  t.notMatch(JSON.stringify(await log.find({}).toArray()), typed);
});

t.test('changes of an account by an admin', async (t) => {
  const admin = await login('admin');
  const draft = { username: 'bob', email: 'bob@example.org', password: PASSWORD };
  const id = String((await call('POST', '/v1/users', admin, draft)).body.id);
  await call('PUT', `/v1/users/${id}/role`, admin, { role: 'editor' });
  await call('PUT', `/v2/users/${id}/status`, admin, { status: 'inactive' });
  await call('PUT', `/v2/users/${id}/password`, admin, { new_password: 'yet another battery' });
  await call('PUT', `/v1/users/${id}`, admin, { email: 'bob@elsewhere.example' });
  await call('PUT', `/v1/users/${id}`, admin, { username: 'robert' });
  await call('DELETE', `/v1/users/${id}`, admin);
  const expected = [
    ['account.changed', { change: 'role', from: 'user', to: 'editor' }],
    ['account.changed', { change: 'status', from: 'active', to: 'inactive' }],
    ['password.changed', { change: 'password' }],
    ['account.changed', { change: 'email' }],
    ['account.changed', { change: 'username' }],
    ['account.deleted', { change: 'deleted' }],
  ];
  await until(async () => (await actionsOf(id)).length >= expected.length, 5000);
  const changes = await log.find({ subject: id }).sort({ _id: 1 }).toArray();
  t.same(
    changes.map(({ action, details }) => [action, details]),
    expected,
  );
  for (const change of changes) {
    t.match(change, { actor: people.admin.id, client: 'gatehouse-login', address: '127.0.0.1' });
    t.match(change, { user_agent: 'node', request_id: String });
  }

  const machine = await built.machineToken();
  const boss = { username: 'boss', email: 'boss@example.org', password: PASSWORD, role: 'admin' };
  for (const [token, who] of [
    [admin, { actor: people.admin.id, client: 'gatehouse-login' }],
    [machine, { actor: undefined, client: MACHINE.client_id }],
  ] as const) {
    const created = await call('POST', '/kb/api/v1/users', token, boss);
    const subject = String(created.body.id);
    t.equal(created.body.role, 'admin');
    await until(async () => (await actionsOf(subject)).length > 0, 5000);
    t.match(
      await log.find({ subject }).toArray(),
      [{ action: 'account.created', details: { role: 'admin', status: 'active' }, ...who }],
      'an admin',
    );
    await call('DELETE', `/v1/users/${subject}`, admin);
  }
  const own = { current_password: 'another battery horse', new_password: PASSWORD };
  const ann = await login('ann', own.current_password);
  await call('PUT', `/v1/users/${people.ann.id}/password`, ann, own);
  await until(
    async () => (await actionsOf(people.ann.id)).filter((it) => it === 'password.changed').length === 2,
    5000,
  );
});
