import t, { type Test } from 'tap';
import { build, PASSWORD as password } from '../build.ts';

const { call, machine, pinned } = await build(t);
const pinnedToG = await pinned({ v1_users: 'G' });

type Person = { username: string; email: string | null; name: string; status: string; role: string };

/** Reads a person in every profile, and compares what each one shows with what is known of them. */
async function assertEverywhere(t: Test, id: string, known: Person, names: [string | null, string | null]) {
  const { username, email, name, status, role } = known;
  const [a, b, c, d] = await Promise.all(
    ['/v1/users', '/v2/users', '/api/v1/users', '/users'].map(async (path) => {
      const { status: code, body } = await call('GET', `${path}/${id}`, machine);
      t.equal(code, 200, path);
      return body;
    }),
  );
  const { createdAt, updatedAt } = a ?? { createdAt: '', updatedAt: '' };
  t.strictSame(a, { id, username, email, createdAt, updatedAt }, 'A');
  const [first_name, last_name] = names;
  const profile = { first_name, last_name };
  t.strictSame(b, { id, username, email, status, created_at: createdAt, profile }, 'B');
  t.strictSame(c, { id, username, email, created_at: createdAt }, 'C');
  t.strictSame(d, { id, name, email }, 'D');

  const lists: [string, string, string, object][] = [
    ['A', '/v1/users', machine, { id, username, email, createdAt, updatedAt }],
    ['B1', '/v2/users?offset=0', machine, { id, username, email, status, created_at: createdAt }],
    ['B2', '/v2/users?page=1', machine, { id, email, status }],
    ['C', '/api/v1/users', machine, { id, username, email, created_at: createdAt }],
    ['D', '/users', machine, { id, name }],
    ['F', '/kb/api/v1/users', machine, { id, username, email, role, createdAt, updatedAt }],
    ['G', '/v1/users', pinnedToG, { id, name, email, created_at: createdAt }],
  ];
  for (const [profileName, path, token, expected] of lists) {
    const filter = `${path.includes('?') ? '&' : '?'}filter[id]=${id}`;
    const { body } = await call('GET', path + filter, token);
    t.strictSame(body.data ?? body, [expected], `the list of ${profileName}`);
    const byCursor = await call('GET', `${path.split('?')[0]}?cursor=&filter[id]=${id}`, token);
    const shown = byCursor.body.data;
    t.equal(shown.length, 1, `${profileName} by cursor`);
    if (!profileName.startsWith('B')) t.strictSame(shown, [expected]);
  }

  // E shows somebody by its responses alone; a change that changes nothing.
  const patched = await call('PATCH', `/v1/users/${id}`, machine, { name });
  t.strictSame(patched.body, { id, email, name, updatedAt: patched.body.updatedAt }, 'E');
}

t.test('a user created in one profile can be read in all others', async (t) => {
  const base = { status: 'active', role: 'user' };
  const none: [null, null] = [null, null];
  const cases: [string, string, string, object, Person, [string | null, string | null]][] = [
    [
      'A',
      '/v1/users',
      machine,
      { username: 'Ann', email: 'Ann@a.org', password },
      { ...base, username: 'Ann', email: 'Ann@a.org', name: 'Ann' },
      none,
    ],
    [
      'B',
      '/v2/users',
      machine,
      {
        username: 'bob',
        email: 'bob@b.org',
        password,
        status: 'inactive',
        profile: { first_name: 'Bob', last_name: 'Stone' },
      },
      { ...base, username: 'bob', email: 'bob@b.org', name: 'Bob Stone', status: 'inactive' },
      ['Bob', 'Stone'],
    ],
    [
      'C',
      '/api/v1/users',
      machine,
      { username: 'cat', email: 'cat@c.org', password },
      { ...base, username: 'cat', email: 'cat@c.org', name: 'cat' },
      none,
    ],
    [
      'D',
      '/users',
      machine,
      { name: 'Dan Gray' },
      { ...base, username: 'dan.gray', email: null, name: 'Dan Gray' },
      none,
    ],
    [
      'E',
      '/v1/users',
      machine,
      { name: 'Eve Moon', email: 'eve.moon@e.org', password },
      { ...base, username: 'eve.moon', email: 'eve.moon@e.org', name: 'Eve Moon' },
      none,
    ],
    [
      'F',
      '/kb/api/v1/users',
      machine,
      { username: 'fay', email: 'fay@f.org', password, role: 'editor' },
      { ...base, username: 'fay', email: 'fay@f.org', name: 'fay', role: 'editor' },
      none,
    ],
    [
      'G',
      '/v1/users',
      pinnedToG,
      { name: 'Gil West', email: 'gil@g.org', password },
      { ...base, username: 'gil', email: 'gil@g.org', name: 'Gil West' },
      none,
    ],
  ];
  for (const [profile, path, token, draft, person, names] of cases) {
    await t.test(profile, async (t) => {
      const { status, body, headers } = await call('POST', path, token, draft);
      t.equal(status, 201);
      const location = headers.get('location') ?? '';
      t.ok(location.endsWith(`/${body.id}`), location);
      t.equal((await call('GET', location, machine)).status, 200, 'Location can be read');
      await assertEverywhere(t, body.id, person, names);
    });
  }
});

t.test('a change in one profile shows in the others', async (t) => {
  const draft = { username: 'changing', email: 'changing@x.org', password };
  const { body } = await call('POST', '/v1/users', machine, draft);
  const path = (prefix: string) => `${prefix}/${body.id}`;
  await call('PUT', path('/v2/users'), machine, {
    username: 'changed',
    status: 'inactive',
    profile: { first_name: 'Chan' },
  });
  await call('PATCH', path('/v1/users'), machine, { email: 'changed@x.org' });
  const after = { username: 'changed', email: 'changed@x.org', status: 'inactive', role: 'user' };
  await assertEverywhere(t, body.id, { ...after, name: 'Chan' }, ['Chan', null]);
  await call('PUT', path('/users'), machine, { profile: { first_name: null, last_name: 'Ged' } });
  await assertEverywhere(t, body.id, { ...after, name: 'Chan' }, [null, 'Ged']);
});

t.test('a user without a username gets a unique one', async (t) => {
  const drafts = [
    { name: 'Jo' },
    { name: 'Jo' },
    { name: '李' },
    { name: '🦊' },
    { name: 'Ann Lee' },
    { name: 'Ann', email: 'changed@y.org', password },
    { name: 'Ann', email: 'x@y.org', password },
    { name: 'Ann', email: `${'l'.repeat(64)}@y.org`, password },
  ];
  const usernames = new Set<string>();
  for (const draft of drafts) {
    const path = 'email' in draft ? '/v1/users' : '/users';
    const { status, body } = await call('POST', path, machine, draft);
    t.equal(status, 201, JSON.stringify(draft));
    const { username } = (await call('GET', `/v1/users/${body.id}`, machine)).body;
    t.match(username, /^[\p{L}\p{M}\p{N}._+-]{3,64}$/u);
    usernames.add(username);
  }
  t.equal(usernames.size, drafts.length, [...usernames].join(' '));
});
