import t from 'tap';
import { ALL, build } from '../build.ts';

const { issuer, call, machine, created } = await build(t);

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

t.test('bad bodies are 400 INVALID_INPUT with a sentence', async (t) => {
  const cases: [string, unknown][] = [
    ['no username', draft({ username: undefined })],
    ['no email', draft({ email: undefined })],
    ['no password', draft({ password: undefined })],
    ['username is a number', draft({ username: 12345 })],
    ['username is null', draft({ username: null })],
    ['username is an object', draft({ username: { $gt: '' } })],
    ['email is a list', draft({ email: ['a@example.org'] })],
    ['password is true', draft({ password: true })],
    ['password with a NUL', draft({ password: '12345678\0' })],
    ['username with half a surrogate pair', JSON.stringify(draft()).replace('person', '\\ud800person')],
    ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ];
  for (const [name, body] of cases) {
    const { status, body: response } = await call('POST', '/v1/users', machine, body);
    t.equal(status, 400, name);
    t.equal(response.error.code, 'INVALID_INPUT', name);
    t.match(response.error.message, /^\S.*\.$/, name);
    t.notMatch(JSON.stringify(response), /node_modules|\.ts:|Mongo|at \w+ \(/, 'no stack, no internals');
  }
  const { id } = await created();
  for (const body of [{ username: 1 }, { email: 'x' }, { username: 'x\0y' }]) {
    t.equal((await call('PUT', `/v1/users/${id}`, machine, body)).status, 400, JSON.stringify(body));
  }
});

t.test('credentials that are not for this API are 401 with a challenge', async (t) => {
  const claims = { trusted: true, scope: ALL };
  const cases: [string, string | undefined][] = [
    ['missing', undefined],
    ['malformed', 'a.b.c'],
    ['wrong audience', await issuer.sign({ ...claims, aud: `${issuer.issuer}/internal` })],
    ['wrong issuer', await issuer.sign({ ...claims, iss: 'https://evil.example' })],
    ['ID token', await issuer.sign(claims, { typ: 'JWT' })],
  ];
  for (const [name, token] of cases) {
    const { status, headers, body } = await call('GET', '/v1/users', token);
    t.equal(status, 401, name);
    t.equal(body.error.code, 'UNAUTHORIZED', name);
    const challenge = `Bearer realm="gatehouse"${name === 'missing' ? '' : ', error="invalid_token"'}`;
    const metadata = `resource_metadata="${issuer.issuer}/.well-known/oauth-protected-resource/api"`;
    t.equal(headers.get('www-authenticate'), `${challenge}, ${metadata}`, name);
  }
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
