import t from 'tap';
import { build } from '../build.ts';

const ALL = 'read:users write:users';
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const { issuer, call, base } = await build(t);
const machine = await issuer.machine(ALL);

let count = 0;
/** A valid body that no other call has made. */
function draft(over: Record<string, unknown> = {}) {
  count += 1;
  return {
    username: `person${count}`,
    email: `person${count}@example.org`,
    password: 'correct horse',
    ...over,
  };
}

async function created(over: Record<string, unknown> = {}) {
  const { status, body } = await call('POST', '/v1/users', machine, draft(over));
  if (status !== 201) throw new Error(`not created: ${status}`);
  return body;
}

t.test('create, read, update and delete, field by field', async (t) => {
  const input = draft();
  const made = await call('POST', '/v1/users', machine, input);
  t.equal(made.status, 201);
  t.same(Object.keys(made.body), ['id', 'username', 'email', 'createdAt', 'updatedAt']);
  t.match(made.body, {
    id: /^usr_[0-9a-z]{26}$/,
    username: input.username,
    email: input.email,
    createdAt: ISO,
  });
  t.equal(made.body.updatedAt, made.body.createdAt);
  t.equal(made.headers.get('content-type'), 'application/json; charset=utf-8');
  t.equal(made.headers.get('location'), `/v1/users/${made.body.id}`);
  t.ok(made.headers.get('x-request-id'));
  const path = `/v1/users/${made.body.id}`;

  const read = await call('GET', path, machine);
  t.equal(read.status, 200);
  t.same(read.body, made.body);

  const changed = await call('PUT', path, machine, { email: 'new@example.org' });
  t.equal(changed.status, 200);
  t.same(changed.body, { ...made.body, email: 'new@example.org', updatedAt: changed.body.updatedAt });
  t.match(changed.body.updatedAt, ISO);
  t.ok(changed.body.updatedAt > made.body.updatedAt, 'updatedAt is later');
  t.same((await call('GET', path, machine)).body, changed.body);

  const removed = await call('DELETE', path, machine);
  t.equal(removed.status, 204);
  t.equal(removed.body, undefined);
  t.equal((await call('GET', path, machine)).status, 404);
  t.equal((await call('DELETE', path, machine)).status, 404);
  t.equal((await call('PUT', path, machine, { email: 'x@example.org' })).status, 404);
});

t.test('the list is an offset envelope in the order of creation', async (t) => {
  const { body: before } = await call('GET', '/v1/users?limit=1', machine);
  const made = [await created(), await created(), await created()];
  const offset = before.pagination.total;
  const total = offset + 3;

  const { status, body } = await call('GET', `/v1/users?limit=2&offset=${offset}`, machine);
  t.equal(status, 200);
  t.same(Object.keys(body), ['data', 'pagination']);
  t.same(body.data, made.slice(0, 2));
  t.same(body.pagination, { limit: 2, offset, total });

  const last = await call('GET', `/v1/users?limit=2&offset=${offset + 2}`, machine);
  t.same(last.body.data, made.slice(2));
  const beyond = await call('GET', `/v1/users?offset=${total}`, machine);
  t.same(beyond.body, { data: [], pagination: { limit: 20, offset: total, total } });
  const ignored = await call('GET', '/v1/users?unknown=1', machine);
  t.same(ignored.body.pagination, { limit: 20, offset: 0, total });
});

t.test('usernames and emails are unique, whatever their case and form', async (t) => {
  await created({ username: 'Ångström', email: 'ann@x.org' });
  const cases = [
    draft({ email: 'Ann@x.org' }),
    draft({ email: 'ANN@X.ORG' }),
    draft({ username: 'ångström' }),
    draft({ username: 'A\u030angstro\u0308m' }),
    draft({ username: 'ＡÅngström'.slice(1) }),
  ];
  for (const body of cases) {
    const response = await call('POST', '/v1/users', machine, body);
    t.equal(response.status, 409, `${body.username} ${body.email}`);
    t.match(response.body, { error: { code: 'CONFLICT', message: /already taken/ } });
  }
  const other = await created();
  const taken = await call('PUT', `/v1/users/${other.id}`, machine, { email: 'aNN@x.org' });
  t.equal(taken.status, 409);
  const own = await call('PUT', `/v1/users/${other.id}`, machine, { username: other.username.toUpperCase() });
  t.equal(own.status, 200, 'a new spelling of the own name is no conflict');
});

t.test('one of 100 parallel creations of a username succeeds', async (t) => {
  const responses = await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      call('POST', '/v1/users', machine, draft({ username: 'highlander', email: `h${i}@example.org` })),
    ),
  );
  const statuses = responses.map(({ status }) => status);
  t.equal(statuses.filter((status) => status === 201).length, 1);
  t.equal(statuses.filter((status) => status === 409).length, 99);
});

t.test('bad bodies are 400 INVALID_INPUT with a sentence', async (t) => {
  const surrogate = JSON.stringify(draft()).replace('person', '\\ud800person');
  const cases: [string, unknown][] = [
    ['malformed JSON', '{"username":'],
    ['not JSON', 'hello'],
    ['empty', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['a text', '"x"'],
    ['__proto__', '{"__proto__":{"role":"admin"},"username":"abc"}'],
    ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['no username', draft({ username: undefined })],
    ['no email', draft({ email: undefined })],
    ['no password', draft({ password: undefined })],
    ['username is a number', draft({ username: 12345 })],
    ['username is null', draft({ username: null })],
    ['username is an object', draft({ username: { $gt: '' } })],
    ['email is a list', draft({ email: ['a@example.org'] })],
    ['password is true', draft({ password: true })],
    ['username of 2', draft({ username: 'ab' })],
    ['username of 65', draft({ username: 'a'.repeat(65) })],
    ['username with @', draft({ username: 'a@example.org' })],
    ['username with a space', draft({ username: 'a b c' })],
    ['username with a control character', draft({ username: 'a\u0007bc' })],
    ['username with a variation selector', draft({ username: 'alice\ufe0f' })],
    ['username with a joiner', draft({ username: 'ali\u034fce' })],
    ['username that shows nothing', draft({ username: '\u3164\u3164\u3164' })],
    ['username of dots', draft({ username: '...' })],
    ['email with a joiner', draft({ email: 'al\u034fice@example.org' })],
    ['username with a NUL', draft({ username: 'a\0bc' })],
    ['username with half a surrogate pair', surrogate],
    ['email without @', draft({ email: 'example.org' })],
    ['email without a domain', draft({ email: 'a@' })],
    ['email with one label', draft({ email: 'a@localhost' })],
    ['email with two @', draft({ email: 'a@b@example.org' })],
    ['email with a line break', draft({ email: 'a@example.org\r\nBcc: b@example.org' })],
    [
      'email of 255',
      draft({
        email: `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(11)}`,
      }),
    ],
    ['password of 7', draft({ password: '1234567' })],
    ['password of 257', draft({ password: 'a'.repeat(257) })],
    ['password of 10,000', draft({ password: 'a'.repeat(10_000) })],
    ['password with a NUL', draft({ password: '12345678\0' })],
  ];
  for (const [name, body] of cases) {
    const { status, body: response } = await call('POST', '/v1/users', machine, body);
    t.equal(status, 400, name);
    t.equal(response.error.code, 'INVALID_INPUT', name);
    t.match(response.error.message, /^\S.*\.$/, name);
    t.same(Object.keys(response), ['error']);
    t.same(Object.keys(response.error), ['code', 'message']);
    t.notMatch(JSON.stringify(response), /node_modules|\.ts:|Mongo|at \w+ \(/, 'no stack, no internals');
  }
  const { id } = await created();
  for (const body of ['{', '[]', { username: 1 }, { email: 'x' }, { username: 'x\0y' }]) {
    t.equal((await call('PUT', `/v1/users/${id}`, machine, body)).status, 400, JSON.stringify(body));
  }
});

t.test('values at the limits are accepted', async (t) => {
  const cases = [
    draft({ username: 'abc' }),
    draft({ username: 'z'.repeat(64) }),
    draft({ password: '8 things' }),
    draft({ password: '🔑🗝🔒🔓🔐🚪🧱🏰' }),
    draft({ password: 'pass with'.padEnd(256, 'a lot') }),
    draft({ extra: 'ignored', role: 'admin' }),
    draft({ username: '李小龍' }),
    draft({ email: "o'neil+tag@sub.example.org" }),
  ];
  for (const body of cases) {
    t.equal((await call('POST', '/v1/users', machine, body)).status, 201, `${body.username}`.slice(0, 20));
  }
});

t.test('an update keeps a value as it is', async (t) => {
  const { id } = await created();
  const { status, body } = await call('PUT', `/v1/users/${id}`, machine, { email: '$username@example.org' });
  t.equal(status, 200);
  t.equal(body.email, '$username@example.org');
  t.match((await call('PUT', `/v1/users/${id}`, machine, {})).body, { email: '$username@example.org' });
});

t.test('bad queries, content types, sizes, methods and paths', async (t) => {
  for (const query of [
    'limit=-1',
    'limit=0',
    'limit=101',
    'limit=abc',
    'limit=1.5',
    'limit=',
    'offset=-1',
    'offset=x',
  ]) {
    const { status, body } = await call('GET', `/v1/users?${query}`, machine);
    t.equal(status, 400, query);
    t.equal(body.error.code, 'INVALID_INPUT');
  }
  t.equal((await call('GET', '/v1/users?limit=1&limit=2', machine)).status, 400);
  t.equal((await call('GET', '/v1/users?offset=10001', machine)).status, 400);

  const form = await call('POST', '/v1/users', machine, 'username=x', {
    'content-type': 'application/x-www-form-urlencoded',
  });
  t.match(form, { status: 415, body: { error: { code: 'UNSUPPORTED_MEDIA_TYPE' } } });
  const large = await call(
    'POST',
    '/v1/users',
    machine,
    JSON.stringify({ username: 'a'.repeat(10_000_000) }),
  );
  t.match(large, { status: 413, body: { error: { code: 'PAYLOAD_TOO_LARGE' } } });
  const method = await call('PATCH', '/v1/users', machine);
  t.match(method, { status: 405, body: { error: { code: 'METHOD_NOT_ALLOWED' } } });
  t.equal(method.headers.get('allow'), 'GET, HEAD, POST');

  for (const id of [
    'x',
    'usr_',
    '%20',
    '%00',
    "'; drop",
    '[object Object]',
    'a'.repeat(500),
    '..%2f..%2fetc',
  ]) {
    const { status, body } = await call('GET', `/v1/users/${id}`, machine);
    t.equal(status, 404, id.slice(0, 20));
    t.equal(body.error.code, 'NOT_FOUND');
  }
  t.match(await call('GET', '/v1/users/%ff', machine), {
    status: 400,
    body: { error: { code: 'INVALID_INPUT' } },
  });
  t.equal((await call('GET', '/v1/users/a/b', machine)).status, 404);
});

t.test('invalid tokens are 401 with a challenge', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  const foreign = await build(t);
  const none = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${machine.split('.')[1]}.`;
  const cases: [string, string | undefined][] = [
    ['missing', undefined],
    ['malformed', 'abc'],
    ['three dots', 'a.b.c'],
    ['expired', await issuer.sign({ trusted: true, scope: ALL, exp: now - 1 })],
    [
      'foreign',
      await foreign.issuer.sign({
        iss: issuer.issuer,
        aud: `${issuer.issuer}/api`,
        trusted: true,
        scope: ALL,
      }),
    ],
    ['wrong audience', await issuer.sign({ trusted: true, scope: ALL, aud: `${issuer.issuer}/internal` })],
    ['wrong issuer', await issuer.sign({ trusted: true, scope: ALL, iss: 'https://evil.example' })],
    ['alg none', none],
    ['ID token', await issuer.sign({ trusted: true, scope: ALL }, { typ: 'JWT' })],
    [
      'changed payload',
      machine.replace(/\.[^.]+\./, `.${Buffer.from('{"sub":"x"}').toString('base64url')}.`),
    ],
  ];
  for (const [name, token] of cases) {
    const { status, headers, body } = await call('GET', '/v1/users', token);
    t.equal(status, 401, name);
    t.equal(body.error.code, 'UNAUTHORIZED', name);
    const challenge =
      name === 'missing' ? 'Bearer realm="gatehouse"' : 'Bearer realm="gatehouse", error="invalid_token"';
    t.equal(headers.get('www-authenticate'), challenge, name);
  }
  const basic = await fetch(`${base}/v1/users`, { headers: { authorization: 'Basic YTpi' } });
  t.equal(basic.status, 401);
  t.equal((await fetch(`${base}/v1/users?access_token=${machine}`)).status, 401, 'not in the query');
});

t.test('access by role and ownership', async (t) => {
  const ann = await created();
  const bob = await created();
  const scopes = `${ALL} read:all read:profile`;
  const user = await issuer.person(ann.id, 'user', scopes);
  const editor = await issuer.person(ann.id, 'editor', scopes);
  const admin = await issuer.person(ann.id, 'admin', scopes);
  const owned = await issuer.sign({ owner: ann.id, scope: scopes });
  const own = `/v1/users/${ann.id}`;
  const others = `/v1/users/${bob.id}`;

  const cases: [string, string, string, string, number, unknown?][] = [
    ['machine without scope', await issuer.machine('read:data'), 'GET', '/v1/users', 403],
    ['machine reading only', await issuer.machine('read:users'), 'POST', '/v1/users', 403, draft()],
    ['machine read:all', await issuer.machine('read:all'), 'GET', '/v1/users', 200],
    ['machine read:profile', await issuer.machine('read:profile'), 'GET', own, 403],
    ['user lists', user, 'GET', '/v1/users', 403],
    ['user creates', user, 'POST', '/v1/users', 403, draft()],
    ['user reads the own record', user, 'GET', own, 200],
    ['user reads with profile only', await issuer.person(ann.id, 'user', 'profile'), 'GET', own, 200],
    [
      'user reads with read:profile only',
      await issuer.person(ann.id, 'user', 'read:profile'),
      'GET',
      own,
      200,
    ],
    [
      'editor reads another with profile only',
      await issuer.person(ann.id, 'editor', 'profile'),
      'GET',
      others,
      403,
    ],
    ['user reads with openid only', await issuer.person(ann.id, 'user', 'openid'), 'GET', own, 403],
    ['user reads another', user, 'GET', others, 403],
    ['user reads an unknown user', user, 'GET', '/v1/users/usr_x', 403],
    ['user changes the own record', user, 'PUT', own, 200, { username: `own-${ann.username}` }],
    ['user changes another', user, 'PUT', others, 403, { email: 'q@example.org' }],
    ['user deletes another', user, 'DELETE', others, 403],
    ['editor lists', editor, 'GET', '/v1/users', 200],
    ['editor reads another', editor, 'GET', others, 200],
    ['editor creates', editor, 'POST', '/v1/users', 403, draft()],
    ['editor changes another', editor, 'PUT', others, 403, { email: 'q@example.org' }],
    ['admin lists', admin, 'GET', '/v1/users', 200],
    ['admin creates', admin, 'POST', '/v1/users', 201, draft()],
    ['admin changes another', admin, 'PUT', others, 200, { email: 'bob-new@example.org' }],
    ['a machine that is not trusted lists', owned, 'GET', '/v1/users', 403],
    ['a machine that is not trusted reads its owner', owned, 'GET', own, 200],
    ['a machine that is not trusted reads another', owned, 'GET', others, 403],
    ['a machine without standing', await issuer.sign({ scope: scopes }), 'GET', '/v1/users', 401],
    ['admin deletes another', admin, 'DELETE', others, 204],
    ['user deletes the own record', user, 'DELETE', own, 204],
  ];
  for (const [name, token, method, path, expected, body] of cases) {
    const response = await call(method, path, token, body);
    t.equal(response.status, expected, name);
    if (expected === 403) t.equal(response.body.error.code, 'FORBIDDEN', name);
  }
  const scope = await call('GET', '/v1/users', await issuer.machine('read:data'));
  t.match(scope.headers.get('www-authenticate'), /error="insufficient_scope", scope="read:users read:all"/);
});
