import t from 'tap';
import { build, PASSWORD as password } from '../build.ts';

/** A body changes what its profile names, and whatever else stands in it is ignored. */

const { call, machine, pinned, account, signedIn, created } = await build(t);
const pinnedToG = await pinned({ v1_users: 'G' });

/** By their names in all profiles and within the service. */
const MORE = {
  id: 'usr_mine',
  _id: 'usr_mine',
  emailVerified: true,
  email_verified: true,
  epoch: 9,
  signInEpoch: 9,
  version: 9,
  firstName: 'Injected',
  lastName: 'Injected',
  first_name: 'Injected',
  phone: '+491234567',
  picture: 'https://example.org/injected',
  passwordHash: 'injected',
  password_hash: 'injected',
  createdAt: '2000-01-01T00:00:00Z',
  created_at: '2000-01-01T00:00:00Z',
};
const UNTOUCHED = {
  email_verified: false,
  first_name: null,
  last_name: null,
  phone: null,
  picture: null,
  epoch: 0,
  sign_in_epoch: 0,
};

/** What each takes beside the others' `role`, `status` and `name`. */
const CREATES: [string, string, (n: string) => object, object][] = [
  [
    'A',
    '/v1/users',
    (n) => ({ username: n, email: `${n}@x.org`, password }),
    { role: 0, status: 0, name: 0 },
  ],
  ['B', '/v2/users', (n) => ({ username: n, email: `${n}@x.org`, password }), { role: 0, name: 0 }],
  [
    'C',
    '/api/v1/users',
    (n) => ({ username: n, email: `${n}@x.org`, password }),
    { role: 0, status: 0, name: 0 },
  ],
  ['D', '/users', (n) => ({ name: n }), { role: 0, status: 0, email: 0, password: 0 }],
  ['E', '/v1/users', (n) => ({ name: n, email: `${n}@x.org`, password }), { role: 0, status: 0 }],
  ['F', '/kb/api/v1/users', (n) => ({ username: n, email: `${n}@x.org`, password }), { status: 0, name: 0 }],
  ['G', '/v1/users', (n) => ({ name: n, email: `${n}@x.org`, password }), { role: 0, status: 0 }],
];
const OTHERS: Record<string, string> = {
  role: 'admin',
  status: 'inactive',
  name: 'Injected',
  email: 'injected@x.org',
  password: 'injected horse',
};
const injected = (fields: object) => Object.fromEntries(Object.keys(fields).map((it) => [it, OTHERS[it]]));

t.test('creating', async (t) => {
  for (const [profile, path, draft, others] of CREATES) {
    const name = `ignored-${profile.toLowerCase()}`;
    const body = { ...MORE, ...injected(others), ...draft(name) };
    const response = await call('POST', path, profile === 'G' ? pinnedToG : machine, body);
    t.equal(response.status, 201, profile);
    t.match(response.body.id, /^usr_[0-9a-z]{26}$/, profile);
    const made = await account(response.body.id);
    t.match(made, { ...UNTOUCHED, role: 'user', status: 'active', name, username: name }, profile);
    t.equal(made.email, profile === 'D' ? null : `${name}@x.org`, profile);
    t.ok(made.created_at > '2020', profile);
    const right = await signedIn(name, password);
    t.equal(right?.id, profile === 'D' ? undefined : response.body.id, `${profile}: the password`);
  }
});

t.test('changing', async (t) => {
  const changes: [string, string, string, object][] = [
    ['A', 'PUT', '/v1/users', { role: 0, status: 0, name: 0, password: 0 }],
    ['B', 'PUT', '/v2/users', { role: 0, name: 0 }],
    ['D', 'PUT', '/users', { role: 0, name: 0 }],
    ['E', 'PATCH', '/v1/users', { role: 0, status: 0, password: 0 }],
  ];
  for (const [profile, method, path, others] of changes) {
    const { id, username } = await created();
    const before = await account(id);
    const { status } = await call(method, `${path}/${id}`, machine, { ...MORE, ...injected(others) });
    t.equal(status, 200, profile);
    t.same({ ...(await account(id)), updated_at: before.updated_at }, before, profile);
    t.equal((await signedIn(username, password))?.id, id, `${profile}: the password`);
  }
  const { id } = (await call('POST', '/users', machine, { name: 'Patched' })).body;
  await call('PATCH', `/v1/users/${id}`, machine, { username: 'injected', name: 'Patched' });
  t.match(await account(id), { username: 'patched' }, 'E has no username');
});
