import t from 'tap';
import { type Body, build } from '../build.ts';

/** Each filter and each sort of each profile means the field that it is named after. */

const { call, machine, pinned } = await build(t, { filtersSunset: new Date('2028-02-29') });

/** Three people whose order differs by each field that can be sorted by. */
async function created(username: string, email: string, role: string): Promise<Body> {
  const draft = { username, email: `${email}@example.org`, role, password: 'correct horse' };
  return (await call('POST', '/kb/api/v1/users', machine, draft)).body;
}
const one = await created('bea', 'cc', 'editor');
const two = await created('cat', 'aa', 'admin');
const three = await created('amy', 'bb', 'user');
for (const { id } of [one, three, two]) await call('PATCH', `/v1/users/${id}`, machine, { name: 'Later' });
await call('PUT', `/v2/users/${two.id}`, machine, { status: 'inactive' });

const { body: listed } = await call('GET', '/kb/api/v1/users', machine);
const people = listed as unknown as Body[];
const usersOf = ({ body }: { body: Body }) => (Array.isArray(body) ? (body as Body[]) : body.data);
const idsOf = (response: { body: Body }) => usersOf(response).map(({ id }) => id);

/** What is filtered by in each profile, by names outside, and what that is in profile F. */
type Field = 'id' | 'username' | 'email' | 'role' | 'createdAt' | 'updatedAt';
const fields = (...names: Field[]): [string, Field][] => names.map((name) => [name, name]);
const created_at: [string, Field] = ['created_at', 'createdAt'];
const LISTS: { name: string; path: string; token: string; filters: [string, Field][]; legacy: boolean }[] = [
  {
    name: 'A',
    path: '/v1/users?limit=20',
    token: await pinned({ v1_users: 'A' }),
    filters: fields('id', 'username', 'email', 'createdAt', 'updatedAt'),
    legacy: true,
  },
  {
    name: 'B1',
    path: '/v2/users?offset=0',
    token: machine,
    filters: [...fields('id', 'username', 'email'), created_at],
    legacy: false,
  },
  {
    name: 'B2',
    path: '/v2/users?page=1',
    token: machine,
    filters: [...fields('id', 'username', 'email'), created_at],
    legacy: false,
  },
  {
    name: 'C',
    path: '/api/v1/users?limit=20',
    token: machine,
    filters: [...fields('id', 'username', 'email'), created_at],
    legacy: true,
  },
  { name: 'D', path: '/users?limit=20', token: machine, filters: fields('id'), legacy: false },
  {
    name: 'F',
    path: '/kb/api/v1/users?limit=20',
    token: machine,
    filters: fields('id', 'username', 'email', 'role', 'createdAt', 'updatedAt'),
    legacy: false,
  },
  {
    name: 'G',
    path: '/v1/users?limit=20',
    token: await pinned({ v1_users: 'G' }),
    filters: [...fields('id', 'email'), created_at],
    legacy: true,
  },
];

for (const { name, path, token, filters, legacy } of LISTS) {
  t.test(`${name}: filters`, async (t) => {
    for (const [outside, field] of filters) {
      for (const person of people) {
        const value = encodeURIComponent(person[field as 'id']);
        const response = await call('GET', `${path}&filter[${outside}]=${value}`, token);
        t.same(idsOf(response), [person.id], `filter[${outside}]`);
        t.notOk(response.headers.has('deprecation'), outside);
      }
      const [first = one] = people;
      const value = encodeURIComponent(first[field as 'id']);
      const plain = await call('GET', `${path}&${outside}=${value}`, token);
      t.equal(plain.status, legacy ? 200 : 400, `${outside} plainly`);
      if (legacy) t.same(idsOf(plain), [one.id], `${outside} plainly`);
      t.equal(plain.headers.has('deprecation'), legacy, `${outside} plainly`);
      t.equal(plain.headers.get('sunset'), legacy ? 'Tue, 29 Feb 2028 00:00:00 GMT' : null);
    }
    const known = new Map(filters);
    for (const [outside] of LISTS.flatMap((it) => it.filters)) {
      if (known.has(outside)) continue;
      const { status } = await call('GET', `${path}&filter[${outside}]=2020-01-01`, token);
      t.equal(status, 400, `filter[${outside}] is none of ${name}`);
    }
    if (name === 'G')
      t.equal((await call('GET', `${path}&username=amy`, token)).status, 400, 'one of A is none');
    const dates = filters.filter(([, field]) => field.endsWith('At')).map(([outside]) => outside);
    for (const outside of dates) {
      t.equal(
        (await call('GET', `${path}&filter[${outside}]=soon`, token)).status,
        400,
        `${outside} is a date`,
      );
    }
  });
}

t.test('status is a filter of B by two names, and neither is deprecated', async (t) => {
  for (const path of ['/v2/users?offset=0', '/v2/users?page=1']) {
    for (const filter of ['status=inactive', 'filter[status]=inactive', 'filter[status][ne]=active']) {
      const response = await call('GET', `${path}&${filter}`, machine);
      t.same(idsOf(response), [two.id], `${path}&${filter}`);
      t.notOk(response.headers.has('deprecation'));
    }
    for (const filter of ['status=asleep', 'filter[status]=asleep'])
      t.equal((await call('GET', `${path}&${filter}`, machine)).status, 400, `${path}&${filter}`);
  }
  t.equal((await call('GET', '/kb/api/v1/users?filter[role]=owner', machine)).status, 400);
});

t.test('F: what a username, a name or an address contains, and the status', async (t) => {
  const path = '/kb/api/v1/users?limit=20';
  const anna = await created('joanna.berg', 'xx-post', 'user');
  await call('PATCH', `/v1/users/${anna.id}`, machine, { name: 'Älva (the 2nd)' });
  for (const [q, found] of [
    ['nna.b', [anna.id]],
    ['ANNA', [anna.id]],
    ['älv', [anna.id]],
    ['the 2', [anna.id]],
    ['a (t', [anna.id]],
    ['-post', [anna.id]],
    ['example.o', [one.id, two.id, three.id, anna.id]],
    ['2nd JO alva org', [anna.id]],
    ['post@exam', [anna.id]],
    ['2nd ohn', []],
    ['b', [one.id, three.id, anna.id]],
    ['n.a', []],
    ['.*', []],
    ['xample', []],
  ] as [string, string[]][]) {
    const response = await call('GET', `${path}&q=${encodeURIComponent(q)}`, machine);
    t.same(idsOf(response).sort(), found.sort(), q);
  }
  for (const sort of ['username', 'email', 'createdAt']) {
    const response = await call(
      'GET',
      `${path}&q=a&filter[status]=active&sortBy=${sort}&sortOrder=desc`,
      machine,
    );
    const sorted = usersOf(response).map((it) => String(it[sort as 'id']));
    t.same(sorted, sorted.toSorted().reverse(), sort);
    t.notOk(idsOf(response).includes(two.id), 'who is inactive');
  }
  t.equal((await call('GET', `${path}&sortBy=text`, machine)).status, 400);
  t.same(idsOf(await call('GET', `${path}&q=cat&filter[role]=admin`, machine)), [two.id]);
  t.equal((await call('DELETE', `/v1/users/${anna.id}`, machine)).status, 204);
  t.same(idsOf(await call('GET', `${path}&q=anna`, machine)), [], 'who is deleted');
});

t.test('F: each sort', async (t) => {
  const orders: [string, Body[]][] = [
    ['id', [one, two, three]],
    ['username', [three, one, two]],
    ['email', [two, three, one]],
    ['role', [two, one, three]],
    ['createdAt', [one, two, three]],
    ['updatedAt', [one, three, two]],
  ];
  for (const [by, order] of orders) {
    const ids = order.map(({ id }) => id);
    t.same(idsOf(await call('GET', `/kb/api/v1/users?sortBy=${by}`, machine)), ids, by);
    const back = await call('GET', `/kb/api/v1/users?sortBy=${by}&sortOrder=desc`, machine);
    t.same(idsOf(back), ids.toReversed(), `${by}, backwards`);
  }
});
