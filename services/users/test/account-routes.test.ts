import { newId } from '@gatehouse/core/ids';
import { internalRoutesOf, isUnder, SERVICE_NAMES, SERVICES } from '@gatehouse/core/services';
import Fastify from 'fastify';
import t from 'tap';
import { mountAccountRoutes } from '../src/internal/account-routes.ts';
import type { UserService } from '../src/user-service.ts';
import { build, PASSWORD } from './build.ts';

const { issuer, call, internal, machine, identityToken: token, account } = await build(t);
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const FIELDS = [
  'id',
  'username',
  'email',
  'email_verified',
  'name',
  'first_name',
  'last_name',
  'phone',
  'locale',
  'zoneinfo',
  'picture',
  'role',
  'status',
  'epoch',
  'sign_in_epoch',
  'recovery_epoch',
  'authority_epoch',
  'admin_epoch',
  'earlier_email',
  'given_back_at',
  'created_at',
  'updated_at',
];

let count = 0;
function draft(over: Record<string, unknown> = {}) {
  count += 1;
  return { username: `inner${count}`, email: `inner${count}@example.org`, password: PASSWORD, ...over };
}

async function created(over: Record<string, unknown> = {}) {
  const { status, body } = await call('POST', '/internal/users/accounts', token, draft(over));
  if (status !== 201) throw new Error(`not created: ${status}`);
  return { ...body, path: `/internal/users/accounts/${body.id}` };
}

const check = (login: string, password: string) =>
  call('POST', '/internal/users/password-checks', token, { login, password });

t.test('an account is created, read and changed, field by field', async (t) => {
  const input = draft({ name: 'Inner One' });
  const made = await call('POST', '/internal/users/accounts', token, input);
  t.equal(made.status, 201);
  t.same(Object.keys(made.body), FIELDS);
  t.match(made.body, {
    id: /^usr_[0-9a-z]{26}$/,
    username: input.username,
    email: input.email,
    email_verified: false,
    name: 'Inner One',
    first_name: null,
    last_name: null,
    phone: null,
    locale: null,
    zoneinfo: null,
    picture: null,
    role: 'user',
    status: 'active',
    epoch: 0,
    sign_in_epoch: 0,
    created_at: ISO,
    updated_at: ISO,
  });
  t.equal(made.headers.get('cache-control'), 'no-store');
  const path = `/internal/users/accounts/${made.body.id}`;
  const read = await call('GET', `/internal/users/accounts?ids=usr_none,${made.body.id}`, token);
  t.same(read.body, { accounts: [null, made.body] });

  const fields = {
    name: '',
    first_name: 'Ann',
    last_name: 'Other',
    phone: '+49 30 1234567',
    locale: 'de-AT',
    zoneinfo: 'Europe/Vienna',
    picture: 'https://example.org/ann.png',
  };
  const changed = await call('PATCH', path, token, fields);
  t.equal(changed.status, 200);
  const { updated_at: updatedAt } = changed.body;
  t.same(changed.body, { ...made.body, ...fields, name: 'Ann Other', updated_at: updatedAt });
  t.ok(updatedAt > made.body.updated_at);
  const bare = await call('PATCH', path, token, {
    first_name: null,
    last_name: '',
    phone: null,
    locale: '',
    zoneinfo: null,
    picture: '',
  });
  t.match(bare.body, { name: input.username, first_name: null, last_name: null, phone: null, picture: null });
  t.match(bare.body, { locale: null, zoneinfo: null });
  t.same((await call('PATCH', path, token, {})).body.name, input.username);

  const tooMany = `/internal/users/accounts?ids=${'usr_none,'.repeat(100)}`;
  t.equal((await call('GET', tooMany, token)).status, 400);
  t.equal((await call('PATCH', '/internal/users/accounts/usr_none', token, { name: 'x' })).status, 404);
});

t.test('errors of a new account, field by field', async (t) => {
  const { id, username, email } = await created();
  await call('PUT', `/internal/users/accounts/${id}/verified-email`, token, { email });
  const cases: [unknown, number, { field: string; message: string }[] | undefined][] = [
    [draft({ username: username.toUpperCase() }), 409, [{ field: 'username', message: 'is already taken' }]],
    [draft({ password: 'short' }), 400, [{ field: 'password', message: 'must have 8 to 256 characters' }]],
    [
      { ...draft(), username: 'a', email: 'b' },
      400,
      [
        { field: 'username', message: 'must have 3 to 64 characters' },
        { field: 'email', message: 'must be a valid email address' },
      ],
    ],
    [draft({ name: 7 }), 400, [{ field: 'name', message: 'must be a string' }]],
    [draft({ email: undefined }), 400, [{ field: 'email', message: 'is required' }]],
    ['{', 400, undefined],
  ];
  for (const [body, status, details] of cases) {
    const reply = await call('POST', '/internal/users/accounts', token, body);
    t.equal(reply.status, status);
    t.match(reply.body.error, { code: status === 409 ? 'conflict' : 'invalid_parameter', message: /\.$/ });
    t.same(reply.body.error.details, details);
  }
  const claimed = await call(
    'POST',
    '/internal/users/accounts',
    token,
    draft({ email: email.toUpperCase() }),
  );
  t.match(claimed, { status: 201, body: { email_verified: false } }, 'a confirmed address is told to nobody');
  const extra = await created({ role: 'editor', email_verified: true, epoch: 7 });
  t.match(extra, { role: 'editor', email_verified: false, epoch: 0 }, 'nothing else is taken');
  const other = await created();
  t.match(await call('PATCH', other.path, token, { email, username: 'ab' }), { status: 400 });
  t.match(await call('PATCH', other.path, token, { email }), {
    status: 409,
    body: { error: { details: [{ field: 'email' }] } },
  });
});

t.test('a password check', async (t) => {
  const made = await created();
  const inactive = await created();
  await call('PUT', `/v1/users/${inactive.id}/status`, machine, { status: 'inactive' });
  const { path, ...account } = made;
  const right = await check(made.username, PASSWORD);
  t.match(right, { status: 200 });
  t.same(right.body, { account });
  const shape = ({ status, headers, body }: Awaited<ReturnType<typeof check>>) => {
    const { 'x-request-id': _, date: __, ...all } = Object.fromEntries(headers);
    return { status, headers: all, body };
  };
  const wrong = shape(await check(made.username, 'wrong horse'));
  t.match(wrong, { status: 200, body: { account: null } });
  for (const [login, password] of [
    ['nobody', PASSWORD],
    [inactive.username, PASSWORD],
    [made.email, PASSWORD],
    ['x'.repeat(10_000), PASSWORD],
  ] as const) {
    t.same(shape(await check(login, password)), wrong, `the same response: ${login.slice(0, 20)}`);
  }
  t.match(
    await call('PUT', `${path}/verified-email`, token, { email: made.email }),
    { status: 200, body: { email_verified: true } },
    'an address that is verified does it',
  );
  t.match((await check(made.email, PASSWORD)).body.account, { id: made.id, email_verified: true });
  t.match((await call('PATCH', path, token, { email: `new-${made.email}` })).body, { email_verified: false });
  t.same(shape(await check(`new-${made.email}`, PASSWORD)), wrong);
  t.match(await call('PUT', `${path}/verified-email`, token, { email: made.email }), { status: 409 });
  for (const body of [{}, { login: 'x' }, { login: 'x', password: 1 }, { login: {}, password: 'x' }, 'x']) {
    t.equal((await call('POST', '/internal/users/password-checks', token, body)).status, 400);
  }
});

t.test('a check of the current password goes by id, whatever the account is called by now', async (t) => {
  const one = await created();
  const other = await created({ password: 'another horse' });
  const checkCurrent = async (path: string, password: string) =>
    (await call('POST', `${path}/password-checks`, token, { password })).status;
  t.equal(await checkCurrent(one.path, PASSWORD), 204);
  const name = `${(await call('GET', one.path, token)).body.username}-2`;
  // The first of these is held; the second one is free at once.
  for (const username of [name, `${name}-3`])
    t.equal((await call('PATCH', one.path, token, { username })).status, 200);
  t.equal((await call('PATCH', other.path, token, { username: name })).status, 200);
  t.equal(await checkCurrent(one.path, PASSWORD), 204);
  t.equal(await checkCurrent(one.path, 'another horse'), 403);
  t.equal(await checkCurrent('/internal/users/accounts/usr_nobody', PASSWORD), 404);
  t.equal((await call('POST', `${one.path}/password-checks`, token, {})).status, 400);
});

t.test('a lookup', async (t) => {
  const made = await created();
  const find = (login: string) => call('POST', '/internal/users/account-lookups', token, { login });
  await call('PUT', `/v1/users/${made.id}/status`, machine, { status: 'inactive' });
  const found = { id: made.id, status: 'inactive', epoch: 1, sign_in_epoch: 1 };
  t.match((await find(made.username.toUpperCase())).body.account, found, 'of the inactive, too');
  t.match(await find('nobody'), { status: 200, body: { account: null } });
  t.match(await find(made.email), { body: { account: null } }, 'the address is not verified');
  t.equal((await call('POST', '/internal/users/account-lookups', token, {})).status, 400);
});

t.test('a new password raises the epochs', async (t) => {
  const { path, username, id } = await created();
  const put = (body: unknown) => call('PUT', `${path}/password`, token, body);
  const wrong = await put({ new_password: 'second horse', current_password: 'wrong horse' });
  t.match(wrong, { status: 403, body: { error: { code: 'forbidden' } } });
  const short = await put({ new_password: 'short', current_password: PASSWORD });
  t.match(short, { status: 400, body: { error: { details: [{ field: 'new_password' }] } } });
  t.match(await put({ current_password: PASSWORD }), { status: 400 });
  const done = await put({ new_password: 'second horse', current_password: PASSWORD });
  t.match(done, { status: 200, body: { id, epoch: 1, sign_in_epoch: 1 } });
  t.match((await check(username, 'second horse')).body.account, { id, epoch: 1, sign_in_epoch: 1 });
  t.match(await put({ new_password: 'third horse' }), { status: 200, body: { epoch: 2 } });
});

t.test('an account may have an id that was chosen before, and no password', async (t) => {
  const id = newId('usr');
  const { path, username } = await created({ id, password: undefined });
  t.equal(path, `/internal/users/accounts/${id}`);
  t.match(await call('GET', `${path}/password`, token), { status: 200, body: { exists: false } });
  t.same((await check(username, PASSWORD)).body, { account: null });
  const again = await call('POST', '/internal/users/accounts', token, draft({ id }));
  t.equal(again.status, 409, 'the id is taken');
  for (const bad of ['usr_', 'app_01m892pwax0017yw6afgsb00sd', `${id}x`]) {
    t.equal((await call('POST', '/internal/users/accounts', token, draft({ id: bad }))).status, 400, bad);
  }
  t.equal((await call('PUT', `${path}/password`, token, { new_password: 'another horse' })).status, 200);
  t.match(await call('GET', `${path}/password`, token), { body: { exists: true } });
  const removed = await call('DELETE', `${path}/password`, token);
  t.match(removed, { status: 200, body: { id, epoch: 2, sign_in_epoch: 2 } }, 'sessions end');
  t.same((await check(username, 'another horse')).body, { account: null });
  t.match(await call('DELETE', `${path}/password`, token), { status: 200, body: { epoch: 2 } }, 'repeatable');
  t.equal((await call('GET', '/internal/users/accounts/usr_nobody/password', token)).status, 404);
});

t.test('only identity has access, with a token for this audience', async (t) => {
  const { id, path } = await created();
  const routes: [string, string, unknown][] = [
    ['POST', '/internal/users/password-checks', { login: 'x', password: 'x' }],
    ['POST', '/internal/users/account-lookups', { login: 'x' }],
    ['GET', '/internal/users/accounts?ids=usr_1', undefined],
    ['POST', '/internal/users/accounts', draft()],
    ['PATCH', path, { name: 'x' }],
    ['GET', `${path}/password`, undefined],
    ['PUT', `${path}/password`, { new_password: 'another horse' }],
    ['DELETE', `${path}/password`, undefined],
    ['PUT', `${path}/verified-email`, { email: 'x@example.org' }],
  ];
  const cases: [string, string | undefined, number][] = [
    ['no token', undefined, 401],
    ['not a token', 'x.y.z', 401],
    ['a token for the API', await issuer.machine('internal'), 401],
    ["a person's token for the API", await issuer.person('usr_x', 'admin', 'internal'), 401],
    ['a client that is no service', await issuer.internal('app_x', 'users'), 403],
    ['a token for identity', await issuer.internal('identity', 'identity'), 401],
    ['a token for items', await issuer.internal('identity', 'items'), 401],
    [
      'a person by way of identity',
      await internal({ sub: 'usr_x', roles: ['admin'], client_id: 'app_x' }),
      403,
    ],
    ['without the scope', await internal({ scope: 'read:users' }), 403],
    ['expired', await internal({ exp: Math.floor(Date.now() / 1000) - 1 }), 401],
  ];
  for (const name of SERVICE_NAMES.filter((service) => service !== 'identity')) {
    cases.push([`the service ${name}`, await issuer.internal(name, 'users'), 403]);
  }
  for (const [name, credential, expected] of cases) {
    for (const [method, url, body] of routes) {
      const reply = await call(method, url, credential, body);
      t.equal(reply.status, expected, `${name}: ${method} ${url.replace(/usr_\w+/, ':id')}`);
      t.equal(reply.body.error.code, expected === 401 ? 'unauthorized' : 'forbidden');
    }
  }
  t.equal((await call('GET', '/v1/users', token)).status, 401, 'an internal token is none for the API');
  t.match(await account(id), { name: /^inner/, epoch: 0 }, 'nothing has changed');
});

t.test(
  'whether a user exists is told to the services that have users’ records, and to nobody else',
  async (t) => {
    const existence = (id: string, credential: string | undefined) =>
      call('GET', `/internal/users/existence/${id}`, credential);
    const { id } = (await call('POST', '/users', machine, { name: 'Somebody' })).body;
    const callers = SERVICES.users.internalRoutes['/internal/users/existence'] ?? [];
    t.same(callers, ['commerce', 'notifications']);
    for (const name of callers) {
      const credential = await issuer.internal(name, 'users');
      t.match(await existence(id, credential), { status: 200, body: { exists: true } });
      t.match(await existence('usr_nobody', credential), { status: 200, body: { exists: false } });
    }
    for (const name of SERVICE_NAMES.filter((service) => !callers.includes(service))) {
      t.equal((await existence('usr_nobody', await issuer.internal(name, 'users'))).status, 403, name);
    }
    t.equal((await existence('usr_nobody', undefined)).status, 401);
  },
);

t.test('only notifications can read the addresses of a user', async (t) => {
  const contacts = (id: string, credential: string | undefined) =>
    call('GET', `/internal/users/contacts/${id}`, credential);
  const draft = {
    username: 'reachable',
    email: 'reach@example.org',
    password: 'a long one',
  };
  const { id } = (await call('POST', '/v1/users', machine, draft)).body;
  const credential = await issuer.internal('notifications', 'users');
  const found = await contacts(id, credential);
  t.equal(found.status, 200);
  t.equal(found.headers.get('cache-control'), 'no-store');
  t.same(Object.keys(found.body), ['email', 'phone', 'epoch'], 'nothing else of theirs');
  t.match(found.body, { email: 'reach@example.org' });
  t.equal((await contacts('usr_nobody', credential)).status, 404);
  for (const name of SERVICE_NAMES.filter((service) => service !== 'notifications')) {
    t.equal((await contacts(id, await issuer.internal(name, 'users'))).status, 403, name);
  }
  t.equal((await contacts(id, undefined)).status, 401);
});

t.test('every mounted internal route has an entry', async (t) => {
  const app = Fastify();
  const mounted: string[] = [];
  app.addHook('onRoute', ({ url }) => void mounted.push(url));
  mountAccountRoutes(app, { users: {} as UserService, authenticate: async () => {} });
  t.ok(mounted.length > 0, 'there are routes');
  for (const { prefix } of internalRoutesOf('users')) {
    t.ok(
      mounted.some((url) => isUnder(url, prefix)),
      `${prefix} has routes`,
    );
  }
  for (const url of mounted) {
    t.ok(
      internalRoutesOf('users').some(({ prefix }) => isUnder(url, prefix)),
      url,
    );
  }
});
