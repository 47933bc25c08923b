import t from 'tap';
import { build } from '../build.ts';

const { call, machine, pinned } = await build(t);
const password = 'a secret that nobody shows';

/** What each profile lists, and nothing else may appear: keys at any depth. */
const LISTED: [string, string, string, string[]][] = [
  ['A', '/v1/users', await pinned({ v1_users: 'A' }), ['id', 'username', 'email', 'createdAt', 'updatedAt']],
  ['B1', '/v2/users', await pinned({ v2_users: 'B1' }), ['id', 'username', 'email', 'status', 'created_at']],
  ['B2', '/v2/users', await pinned({ v2_users: 'B2' }), ['id', 'email', 'status']],
  ['C', '/api/v1/users', machine, ['id', 'username', 'email', 'created_at']],
  ['D', '/users', machine, ['id', 'name']],
  ['F', '/kb/api/v1/users', machine, ['id', 'username', 'email', 'role', 'createdAt', 'updatedAt']],
  ['G', '/v1/users', await pinned({ v1_users: 'G' }), ['id', 'name', 'email', 'created_at']],
];
const READ: [string, string[]][] = [
  ['/v1/users', ['id', 'username', 'email', 'createdAt', 'updatedAt']],
  ['/v2/users', ['id', 'username', 'email', 'status', 'created_at', 'profile', 'first_name', 'last_name']],
  ['/api/v1/users', ['id', 'username', 'email', 'created_at']],
  ['/users', ['id', 'name', 'email']],
];

/** All keys of a JSON value, at any depth. */
function keysOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(keysOf);
  return [...new Set([...(Array.isArray(value) ? [] : Object.keys(value)), ...inner])];
}

const made = await call('POST', '/kb/api/v1/users', machine, {
  username: 'secretive',
  email: 'secretive@example.org',
  password,
  role: 'admin',
});
const { id } = made.body;
await call('PUT', `/v2/users/${id}`, machine, { profile: { first_name: 'Se', last_name: 'Cret' } });
await call('POST', '/users', machine, { name: 'Another' });

/** Parts of the stored document and of the account that no profile has, and the password in any form. */
const INTERNAL =
  /epoch|version|outbox|_key|hash|argon2|verified|secret that nobody|deleted|usr_[0-9a-z]{26}[^"]|__v|"_id"/;

t.test('lists have only the fields of their profile, in every envelope', async (t) => {
  for (const [name, path, token, keys] of LISTED) {
    for (const query of ['', 'limit=1', 'cursor=', 'offset=0', 'page=1', 'filter[id]=', `filter[id]=${id}`]) {
      const { body } = await call('GET', `${path}?${query}`, token);
      const users = Array.isArray(body) ? body : (body.data ?? []);
      for (const user of users) t.same(keysOf(user), keys, `${name} ?${query}`);
      t.notMatch(JSON.stringify(body).replaceAll(/cursor=[\w-]+/g, ''), INTERNAL, `${name} ?${query}`);
    }
  }
});

t.test('a user has only the fields of the profile', async (t) => {
  for (const [path, keys] of READ) {
    const { body } = await call('GET', `${path}/${id}`, machine);
    t.same(keysOf(body), keys, path);
    t.notMatch(JSON.stringify(body), INTERNAL, path);
  }
});

t.test('errors do not repeat passwords', async (t) => {
  const bad = { username: 'x', email: 'x', name: '', password, current_password: password, new_password: 1 };
  for (const [method, path] of [
    ...['/v1/users', '/v2/users', '/api/v1/users', '/users', '/kb/api/v1/users'].map((it) => ['POST', it]),
    ...['/v1/users', '/v2/users', '/users'].flatMap((it) => [
      ['PUT', `${it}/${id}`],
      ['PUT', `${it}/${id}/password`],
    ]),
    ['PATCH', `/v1/users/${id}`],
  ] as [string, string][]) {
    const { status, body } = await call(method, path, machine, bad);
    t.ok(status === 400, `${method} ${path} ${status}`);
    t.notMatch(JSON.stringify(body), /secret that/);
  }
});

t.test('filters and sorts do not disclose other fields', async (t) => {
  const hidden = [
    'password',
    'password_hash',
    'epoch',
    'sign_in_epoch',
    'version',
    'phone',
    'outbox',
    '_id',
    '__proto__',
  ];
  for (const [name, path, token, keys] of LISTED) {
    const fields = name === 'F' ? hidden : [...hidden, 'role'];
    if (!name.startsWith('B')) fields.push('status');
    for (const field of fields) {
      const { status } = await call('GET', `${path}?filter[${field}]=admin`, token);
      t.equal(status, 400, `${name}: filter[${field}]`);
      if (keys.includes(field)) t.fail(`${field} is listed`);
    }
    for (const field of [...hidden, 'name']) {
      const { status } = await call('GET', `${path}?sortBy=${field}`, token);
      t.equal(status, name === 'F' ? 400 : 200, `${name}: sortBy=${field}`);
    }
    // A plain parameter that is a filter nowhere at the path is ignored, whatever it is called.
    for (const field of ['phone', 'password_hash']) {
      const plain = await call('GET', `${path}?${field}=nothing`, token);
      t.equal(plain.status, 200);
      const users = Array.isArray(plain.body) ? plain.body : plain.body.data;
      t.equal(users.length, 2, `${name}: ${field} is ignored`);
      t.notOk(plain.headers.has('deprecation'));
    }
  }
});

t.test('a cursor contains only the sort field', async (t) => {
  const cursorOf = (link: string | undefined) =>
    Buffer.from(new URL(link ?? '', 'http://x').searchParams.get('cursor') ?? '', 'base64url').toString();
  for (const [name, path, token] of LISTED) {
    const { body } = await call('GET', `${path}?limit=1&cursor=`, token);
    t.notMatch(cursorOf(body.links.next), /secretive|example|admin|\$argon/, name);
  }
});
