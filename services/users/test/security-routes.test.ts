import t from 'tap';
import { ALL, build, PASSWORD } from './build.ts';

const {
  issuer,
  call,
  machine,
  identity: standIn,
  identityToken,
  created,
  account,
  signedIn,
} = await build(t);
const epochOf = async (id: string) => (await account(id)).epoch;

t.test('people change their own password with the current one', async (t) => {
  const ann = await created();
  const token = await issuer.person(ann.id, 'user', ALL);
  const put = (body: unknown) => call('PUT', `${ann.path}/password`, token, body);
  const errors: [string, unknown, RegExp][] = [
    ['without the current one', { new_password: 'second horse' }, /^current_password is required\.$/],
    [
      'wrong',
      { new_password: 'second horse', current_password: 'wrong' },
      /^current_password is not right\.$/,
    ],
    ['short', { new_password: 'short', current_password: PASSWORD }, /^new_password must have 8 to 256/],
    ['none', { current_password: PASSWORD }, /^new_password is required\.$/],
    [
      'not a text',
      { new_password: 12345678, current_password: PASSWORD },
      /^new_password must be a string\.$/,
    ],
    ['camel case', { newPassword: 'second horse', currentPassword: PASSWORD }, /new_password is required/],
    ['no JSON', '{', /JSON/],
  ];
  for (const [name, body, message] of errors) {
    t.match(await put(body), { status: 400, body: { error: { code: 'INVALID_INPUT', message } } }, name);
  }
  t.equal(await epochOf(ann.id), 0);
  const done = await put({ new_password: 'second horse', current_password: PASSWORD });
  t.equal(done.status, 204);
  t.equal(done.body, undefined);
  t.match(await signedIn(ann.username, 'second horse'), { id: ann.id, epoch: 1, sign_in_epoch: 1 });
  t.equal(await signedIn(ann.username, PASSWORD), null);
});

t.test('people change their own address with their password, and not through an application', async (t) => {
  const wrong = { current_password: 'wrong' };
  const right = { current_password: PASSWORD };
  const routes = [
    ['PUT', '/v1/users'],
    ['PATCH', '/v1/users'],
    ['PUT', '/v2/users'],
    ['PUT', '/users'],
  ] as const;
  for (const [method, prefix] of routes) {
    for (const role of ['user', 'admin'] as const) {
      const ann = await created();
      const own = { sub: ann.id, roles: [role], scope: ALL };
      const login = await issuer.sign({
        ...own,
        client_id: 'gatehouse-login',
        scope: `${ALL} manage:apps`,
      });
      const application = await issuer.person(ann.id, role, ALL);
      const key = issuer.apiKey({ scopes: ['write:users'], trusted: false, owner: ann.id, role }).key;
      const email = `new-${ann.email}`;
      const cases: [string, string, object, number, unknown][] = [
        ['an application', application, { email }, 403, /FORBIDDEN|forbidden/],
        ['an application with the password', application, { email, ...right }, 403, /FORBIDDEN|forbidden/],
        ['an API key with the password', key, { email, ...right }, 403, /FORBIDDEN|forbidden/],
        ['an application, the same again', application, { email: ann.email }, 200, undefined],
        ['a login', login, { email }, 400, /INVALID_INPUT|invalid_parameter/],
        ['a login, wrong password', login, { email, ...wrong }, 400, /INVALID_INPUT|invalid_parameter/],
        ['a login, its own password', login, { email, ...right }, 200, undefined],
      ];
      for (const [name, token, body, status, code] of cases) {
        const response = await call(method, `${prefix}/${ann.id}`, token, body);
        const about = `${method} ${prefix}, ${role}: ${name}`;
        t.equal(response.status, status, about);
        if (code !== undefined) t.match(response.body, { error: { code } }, about);
        const stored = await account(ann.id);
        t.equal(stored.email, status === 200 && 'current_password' in body ? email : ann.email, about);
      }
    }
  }
});

t.test('machines and admins change the addresses of others, unverified', async (t) => {
  const admin = await issuer.person('usr_admin', 'admin', ALL);
  for (const token of [machine, admin]) {
    const ann = await created();
    const path = `/internal/users/accounts/${ann.id}`;
    await call('PUT', `${path}/verified-email`, identityToken, { email: ann.email });
    t.equal((await call('PUT', ann.path, token, { email: `new-${ann.email}` })).status, 200);
    t.match(await account(ann.id), {
      email: `new-${ann.email}`,
      email_verified: false,
    });
    const told = { user_id: ann.id, reason: 'email', previous_email: ann.email };
    t.match(
      standIn.changes.filter(({ user_id }) => user_id === ann.id),
      [told],
      'identity is told, which tells the old address',
    );
  }
});

t.test('wrong passwords count for a new address as for a new password', async (t) => {
  const ann = await created();
  const own = { sub: ann.id, client_id: 'gatehouse-login', roles: ['user'] };
  const login = await issuer.sign({ ...own, scope: `${ALL} manage:apps` });
  const body = { email: `new-${ann.email}`, current_password: 'wrong' };
  for (let i = 0; i < 10; i += 1) t.equal((await call('PUT', ann.path, login, body)).status, 400);
  t.equal((await call('PUT', ann.path, login, { ...body, current_password: PASSWORD })).status, 429);
});

t.test('ten wrong guesses by one application, then 429 with Retry-After', async (t) => {
  const ann = await created();
  const guess = async (client_id: string, current_password: string) => {
    const token = await issuer.sign({ sub: ann.id, client_id, roles: ['user'], scope: ALL });
    return call('PUT', `${ann.path}/password`, token, { new_password: 'second horse', current_password });
  };
  for (let i = 0; i < 10; i += 1) t.equal((await guess('app_one', `wrong ${i}`)).status, 400);
  const refused = await guess('app_one', PASSWORD);
  t.match(refused, { status: 429, body: { error: { code: 'rate_limited' } } });
  t.match(refused.headers.get('retry-after'), /^\d+$/);
  t.match(await signedIn(ann.username, PASSWORD), { id: ann.id }, 'signing in is another matter');
  for (let i = 0; i < 30; i += 1) await guess('app_one', 'wrong');
  t.equal((await guess('app_two', PASSWORD)).status, 204, 'what was refused does not count against the user');
});

t.test('all applications of one person share a limit', async (t) => {
  const ann = await created();
  const guess = async (n: number) => {
    const id = `app_own${n}`;
    const token = await issuer.sign({ owner: ann.id, client_id: id, sub: id, roles: ['user'], scope: ALL });
    const body = { new_password: 'second horse', current_password: `wrong ${n}` };
    return (await call('PUT', `${ann.path}/password`, token, body)).status;
  };
  for (let n = 0; n < 10; n += 1) t.equal(await guess(n), 400);
  t.equal(await guess(10), 429);
  const token = await issuer.person(ann.id, 'user', ALL);
  const right = { new_password: 'second horse', current_password: PASSWORD };
  t.equal((await call('PUT', `${ann.path}/password`, token, right)).status, 204, 'elsewhere she may');
});

t.test('applications close neither the own pages nor a login', async (t) => {
  const ann = await created();
  const own = { sub: ann.id, roles: ['user'] };
  const login = await issuer.sign({ ...own, client_id: 'gatehouse-login', scope: `${ALL} manage:apps` });
  const body = { new_password: 'second horse', current_password: 'wrong' };
  const right = { ...body, current_password: PASSWORD };
  for (let n = 0; n < 31; n += 1) {
    const token = await issuer.sign({ ...own, client_id: `app_${n % 7}`, scope: ALL });
    const guess = n < 30 ? body : right;
    t.equal((await call('PUT', `${ann.path}/password`, token, guess)).status, n < 30 ? 400 : 429);
  }
  const page = `/internal/users/accounts/${ann.id}/password`;
  t.equal((await call('PUT', page, identityToken, { ...right, new_password: PASSWORD })).status, 200);
  t.equal((await call('PUT', `${ann.path}/password`, login, body)).status, 401, 'ended by the new one');
  const next = { ...own, client_id: 'gatehouse-login', scope: `${ALL} manage:apps` };
  const again = await issuer.sign({ ...next, epoch: { client: 0, subject: 1 } });
  t.equal((await call('PUT', `${ann.path}/password`, again, right)).status, 204);
});

t.test('access by role and ownership', async (t) => {
  const ann = await created();
  const bob = await created();
  const user = await issuer.person(ann.id, 'user', ALL);
  const editor = await issuer.person(ann.id, 'editor', ALL);
  const admin = await issuer.person(ann.id, 'admin', ALL);
  const owned = await issuer.sign({ owner: ann.id, scope: ALL });
  const reader = await issuer.machine('read:users');
  const password = { new_password: 'another horse' };
  const withCurrent = { ...password, current_password: PASSWORD };
  const cases: [string, string, string, unknown, number][] = [
    ['user, another password', user, `${bob.path}/password`, withCurrent, 403],
    ['user, password of nobody', user, '/v1/users/usr_none/password', withCurrent, 403],
    ['editor, another password', editor, `${bob.path}/password`, withCurrent, 403],
    ['reading machine, password', reader, `${bob.path}/password`, password, 403],
    ['machine of ann, password of bob', owned, `${bob.path}/password`, password, 403],
    ['machine of ann, own password unknown', owned, `${ann.path}/password`, password, 400],
    [
      'person without the scope',
      await issuer.person(ann.id, 'user', 'read:users'),
      `${ann.path}/password`,
      withCurrent,
      403,
    ],
    ['nobody', 'x.y.z', `${ann.path}/password`, withCurrent, 401],
    ['user, own role', user, `${ann.path}/role`, { role: 'admin' }, 403],
    ['editor, own role', editor, `${ann.path}/role`, { role: 'admin' }, 403],
    ['machine of ann, own role', owned, `${ann.path}/role`, { role: 'admin' }, 403],
    ['reading machine, role', reader, `${bob.path}/role`, { role: 'editor' }, 403],
    ['user, own status', user, `${ann.path}/status`, { status: 'inactive' }, 403],
    ['editor, status of another', editor, `${bob.path}/status`, { status: 'inactive' }, 403],
    ['admin, role unknown', admin, `${bob.path}/role`, { role: 'root' }, 400],
    ['admin, role a list', admin, `${bob.path}/role`, { role: ['admin'] }, 400],
    ['admin, no role', admin, `${bob.path}/role`, {}, 400],
    ['admin, status unknown', admin, `${bob.path}/status`, { status: 'deleted' }, 400],
    ['admin, nobody', admin, '/v1/users/usr_none/role', { role: 'editor' }, 404],
    ['admin, nobody', admin, '/v1/users/usr_none/status', { status: 'inactive' }, 404],
    ['machine, password of nobody', machine, '/v1/users/usr_none/password', password, 404],
  ];
  for (const [name, token, path, body, expected] of cases) {
    t.equal((await call('PUT', path, token, body)).status, expected, name);
  }
  t.equal(await epochOf(ann.id), 0);
  t.equal(await epochOf(bob.id), 0);

  t.equal((await call('PUT', `${bob.path}/password`, admin, password)).status, 204, 'admin');
  t.match(await signedIn(bob.username, 'another horse'), { id: bob.id, epoch: 1 });
  t.equal(
    (await call('PUT', `${bob.path}/password`, machine, { new_password: PASSWORD })).status,
    204,
    'machine',
  );
  t.equal((await call('PUT', `${bob.path}/role`, admin, { role: 'editor' })).status, 204);
  t.match(await signedIn(bob.username, PASSWORD), { role: 'editor', epoch: 3, sign_in_epoch: 2 });
  t.equal((await call('PUT', `${bob.path}/role`, machine, { role: 'editor' })).status, 204, 'again');
  t.equal(await epochOf(bob.id), 3);
  t.equal((await call('PUT', `${bob.path}/status`, admin, { status: 'inactive' })).status, 204);
  t.equal(await signedIn(bob.username, PASSWORD), null);
  t.equal((await call('PUT', `${bob.path}/status`, machine, { status: 'active' })).status, 204);
  t.match(await signedIn(bob.username, PASSWORD), { status: 'active', epoch: 5, sign_in_epoch: 3 });
});

t.test('people leave an active admin, and machines need not', async (t) => {
  const { id, path } = await created();
  const make = async () =>
    t.equal((await call('PUT', `${path}/role`, machine, { role: 'admin' })).status, 204);
  const losses: [method: string, path: string, body?: unknown][] = [
    ['PUT', `${path}/role`, { role: 'user' }],
    ['PUT', `${path}/status`, { status: 'inactive' }],
    ['PUT', `/v2/users/${id}`, { status: 'inactive' }],
    ['DELETE', path],
  ];
  await make();
  // Each change of the role ends the tokens so far.
  const admin = await issuer.sign({
    ...{ sub: id, roles: ['admin'], scope: ALL, epoch: { client: 0, subject: await epochOf(id) } },
  });
  for (const [method, at, body] of losses) {
    const { status, text } = await call(method, at, admin, body);
    t.equal(status, 409, `${method} ${at}`);
    t.match(text, 'This is the last active admin. Make somebody else an admin first.');
  }
  t.equal((await call('DELETE', path, machine)).status, 204);
});

t.test('other methods', async (t) => {
  const response = await call('POST', '/v1/users/usr_x/password', machine, {});
  t.equal(response.status, 405);
  t.equal(response.headers.get('allow'), 'PUT');
});
