import t from 'tap';
import { build, PASSWORD } from '../build.ts';

/** A body has what its profile names. A change may also have what its response shows, which is ignored. */

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
  locale: 'de',
  zoneinfo: 'UTC',
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
  locale: null,
  zoneinfo: null,
  picture: null,
  epoch: 0,
  sign_in_epoch: 0,
};

/** What each takes beside the others' `role`, `status` and `name`. */
const CREATES: [string, string, (n: string) => object, object][] = [
  [
    'A',
    '/v1/users',
    (n) => ({ username: n, email: `${n}@x.org`, password: PASSWORD }),
    { role: 0, status: 0, name: 0 },
  ],
  ['B', '/v2/users', (n) => ({ username: n, email: `${n}@x.org`, password: PASSWORD }), { role: 0, name: 0 }],
  [
    'C',
    '/api/v1/users',
    (n) => ({ username: n, email: `${n}@x.org`, password: PASSWORD }),
    { role: 0, status: 0, name: 0 },
  ],
  ['D', '/users', (n) => ({ name: n }), { role: 0, status: 0, email: 0, password: 0 }],
  ['E', '/v1/users', (n) => ({ name: n, email: `${n}@x.org`, password: PASSWORD }), { role: 0, status: 0 }],
  [
    'F',
    '/kb/api/v1/users',
    (n) => ({ username: n, email: `${n}@x.org`, password: PASSWORD }),
    { status: 0, name: 0 },
  ],
  ['G', '/v1/users', (n) => ({ name: n, email: `${n}@x.org`, password: PASSWORD }), { role: 0, status: 0 }],
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
    const name = `unknown-${profile.toLowerCase()}`;
    const token = profile === 'G' ? pinnedToG : machine;
    for (const [field, value] of Object.entries({ ...MORE, ...injected(others) })) {
      const { status, body } = await call('POST', path, token, { ...draft(name), [field]: value });
      t.equal(status, 400, `${profile}: ${field}`);
      t.match(JSON.stringify(body.error), `${field} is not a known field`);
    }
    const { status, body } = await call('POST', path, token, draft(name));
    t.equal(status, 201, 'and nothing was created before');
    t.match(await account(body.id), { ...UNTOUCHED, role: 'user', status: 'active', name }, profile);
  }
});

t.test('changing', async (t) => {
  const changes: [string, string, string, object, string[]][] = [
    ['A', 'PUT', '/v1/users', { role: 0, status: 0, name: 0, password: 0 }, ['id', 'createdAt']],
    ['B', 'PUT', '/v2/users', { role: 0, name: 0 }, ['id', 'created_at']],
    ['D', 'PUT', '/users', { role: 0, name: 0 }, ['id', 'created_at']],
    ['E', 'PATCH', '/v1/users', { role: 0, status: 0, password: 0 }, ['id', 'email']],
  ];
  for (const [profile, method, path, others, readOnly] of changes) {
    const { id, username } = await created();
    const before = await account(id);
    for (const [field, value] of Object.entries({ ...MORE, ...injected(others) })) {
      const { status } = await call(method, `${path}/${id}`, machine, { [field]: value });
      t.equal(status, readOnly.includes(field) ? 200 : 400, `${profile}: ${field}`);
    }
    t.same({ ...(await account(id)), updated_at: before.updated_at }, before, profile);
    t.equal((await signedIn(username, PASSWORD))?.id, id, `${profile}: the password`);
  }
});
