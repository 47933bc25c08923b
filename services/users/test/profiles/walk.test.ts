import { repetitions } from '@gatehouse/testing/repetitions';
import fc from 'fast-check';
import t from 'tap';
import { build, type JsonResponse } from '../build.ts';

t.setTimeout(120_000);

const { call, machine, pinned } = await build(t);

type List = { name: string; path: string; token: string; sort: (a: Row, b: Row) => number };
type Row = { id: string; username: string };

const byId = (a: Row, b: Row) => (a.id < b.id ? -1 : 1);
const byUsername = (a: Row, b: Row) => (a.username < b.username ? -1 : 1);
const LISTS: List[] = [
  { name: 'A', path: '/v1/users', token: await pinned({ v1_users: 'A' }), sort: byId },
  { name: 'G', path: '/v1/users', token: await pinned({ v1_users: 'G' }), sort: byId },
  { name: 'B1', path: '/v2/users', token: await pinned({ v2_users: 'B1' }), sort: byId },
  { name: 'B2', path: '/v2/users', token: await pinned({ v2_users: 'B2' }), sort: byId },
  { name: 'B2 filtered', path: '/v2/users?status=active', token: machine, sort: byId },
  { name: 'C', path: '/api/v1/users', token: machine, sort: byId },
  { name: 'D', path: '/users', token: machine, sort: byId },
  { name: 'F', path: '/kb/api/v1/users', token: machine, sort: byId },
  {
    name: 'F by username, backwards',
    path: '/kb/api/v1/users?sortBy=username&sortOrder=desc',
    token: machine,
    sort: (a, b) => byUsername(b, a),
  },
  {
    name: 'F by role',
    path: '/kb/api/v1/users?sortBy=role',
    token: machine,
    sort: byId,
  },
];

let count = 0;
async function insert(): Promise<Row> {
  count += 1;
  // In an order that differs from that of creation.
  const name = `w${(count * 7919) % 10_007}x${count}`;
  const { body } = await call('POST', '/users', machine, { name });
  return { id: body.id, username: name };
}

async function page({ token }: List, path: string): Promise<JsonResponse> {
  const response = await call('GET', path, token);
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
  return response;
}
const idsOf = ({ body }: JsonResponse) => body.data.map(({ id }) => id);

/** What happens between two pages. */
const step = fc.record({
  inserts: fc.integer({ min: 0, max: 2 }),
  deletes: fc.array(fc.nat(), { maxLength: 2 }),
});

t.test('paging during concurrent inserts and deletes neither skips nor repeats a user', async (t) => {
  let living: Row[] = [];
  for (let i = 0; i < 12; i += 1) living.push(await insert());
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...LISTS),
      fc.integer({ min: 1, max: 5 }),
      fc.array(step, { maxLength: 6 }),
      async (list, limit, steps) => {
        while (living.length < 8) living.push(await insert());
        const stayed = new Set(living.map(({ id }) => id));
        const seen: string[] = [];
        const between = [...steps];
        let path: string | undefined =
          `${list.path}${list.path.includes('?') ? '&' : '?'}limit=${limit}&cursor=`;
        for (let pages = 0; path !== undefined; pages += 1) {
          if (pages > 100) throw new Error('the walk does not end');
          const { body } = await page(list, path);
          seen.push(...body.data.map(({ id }) => id));
          path = body.links.next;
          if (path !== undefined && !path.startsWith(`${list.path.split('?')[0]}?`)) throw new Error(path);
          const { inserts, deletes } = between.shift() ?? { inserts: 0, deletes: [] };
          for (let i = 0; i < inserts; i += 1) living.push(await insert());
          for (const at of deletes) {
            const [gone] = living.splice(at % Math.max(1, living.length), 1);
            if (gone === undefined) continue;
            await call('DELETE', `/v1/users/${gone.id}`, machine);
            stayed.delete(gone.id);
          }
        }
        if (new Set(seen).size !== seen.length) throw new Error('somebody was shown twice');
        const missed = [...stayed].filter((id) => !seen.includes(id));
        if (missed.length > 0) throw new Error(`${missed.length} of ${stayed.size} were missed`);
      },
    ),
    { numRuns: repetitions(40) },
  );
  t.pass('40 walks');
  living = living.toSorted(byId);
});

t.test('at rest the pages are the list in its order, next and prev lead to each other', async (t) => {
  const everybody: Row[] = [];
  let next: string | undefined = '/v1/users?limit=100&cursor=';
  while (next !== undefined) {
    const { body } = await call('GET', next, machine);
    everybody.push(...body.data.map(({ id, username }) => ({ id, username })));
    next = body.links.next;
  }
  for (const list of LISTS) {
    const expected = everybody.toSorted(list.sort).map(({ id }) => id);
    for (const limit of [3, expected.length, 100]) {
      const start = `${list.path}${list.path.includes('?') ? '&' : '?'}limit=${limit}&cursor=`;
      const forwards = [await page(list, start)];
      for (
        let link = forwards[0]?.body.links.next;
        link !== undefined;
        link = forwards.at(-1)?.body.links.next
      ) {
        forwards.push(await page(list, link));
      }
      t.same(forwards.flatMap(idsOf), expected, `${list.name}, ${limit} at a time`);
      t.equal(forwards[0]?.body.links.prev, undefined, 'nothing before the first');
      let at = forwards.length - 1;
      for (let link = forwards[at]?.body.links.prev; link !== undefined; at -= 1) {
        const back: JsonResponse = await page(list, link);
        t.same(idsOf(back), idsOf(forwards[at - 1] as JsonResponse), 'prev leads to the page before');
        if (back.body.links.next !== undefined) {
          t.same(
            idsOf(await page(list, back.body.links.next)),
            idsOf(forwards[at] as JsonResponse),
            'and next back again',
          );
        }
        t.equal(back.body.meta.currentPage, at);
        link = back.body.links.prev;
      }
      t.equal(at, 0, 'until the beginning');
      for (const { body } of forwards) {
        t.equal(body.meta.totalItems, expected.length);
        t.equal(body.meta.itemsPerPage, body.data.length);
        t.equal(body.meta.hasNextPage, body.links.next !== undefined);
        t.equal(body.meta.hasPrevPage, body.links.prev !== undefined);
      }
    }
  }
});

t.test('who follows a link stays in the profile, without a pin, too', async (t) => {
  const keysOf = (response: JsonResponse) =>
    Object.keys(Array.isArray(response.body) ? response.body[0] : response.body.data[0]);
  const B1 = ['id', 'username', 'email', 'status', 'created_at'];
  const first = await call('GET', '/v2/users?offset=0&limit=2', machine);
  t.same(keysOf(first), B1);
  let link = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1];
  for (let i = 0; i < 3; i += 1) {
    const next: JsonResponse = await call('GET', link ?? '', machine);
    t.same(keysOf(next), B1);
    link = i === 1 ? next.body.links.prev : next.body.links.next;
  }
  const byDefault = await call('GET', '/v2/users?cursor=&limit=1', machine);
  t.same(keysOf(await call('GET', byDefault.body.links.next ?? '', machine)), ['id', 'email', 'status']);
});

t.test('who counts the other way gets the same rows', async (t) => {
  const ids = (response: JsonResponse) => {
    const { body } = response;
    return (Array.isArray(body) ? body : body.data).map(({ id }: { id: string }) => id);
  };
  for (const [path, token] of [
    ['/v1/users', await pinned({ v1_users: 'A' })],
    ['/v1/users', await pinned({ v1_users: 'G' })],
    ['/v2/users', await pinned({ v2_users: 'B1' })],
    ['/v2/users', await pinned({ v2_users: 'B2' })],
    ['/api/v1/users', machine],
    ['/users', machine],
    ['/kb/api/v1/users', machine],
  ] as const) {
    const byPage = await call('GET', `${path}?page=3&limit=2`, token);
    const byOffset = await call('GET', `${path}?offset=4&limit=2`, token);
    t.same(byPage.body, byOffset.body, path);
    t.same(ids(byPage), ids(await call('GET', '/api/v1/users?limit=2&offset=4', machine)));
    t.equal((await call('GET', `${path}?page=1&offset=0`, token)).status, 400);
  }
});

t.test('a bare array says how to go on by cursor', async (t) => {
  // The walks may have left fewer than a page.
  for (let i = 0; i < 10; i += 1) await insert();
  const first = await call('GET', '/users?limit=5', machine);
  const link = /^<([^>]+)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
  t.match(link, /^\/users\?/);
  const second = await call('GET', link, machine);
  const both = await call('GET', '/users?limit=10', machine);
  t.same([...(first.body as unknown as object[]), ...second.body.data], both.body);
});
