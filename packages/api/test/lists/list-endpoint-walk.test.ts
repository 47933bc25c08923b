import assert from 'node:assert/strict';
import { serializer } from '@gatehouse/api/http/schema';
import { encodeCursor, listHash } from '@gatehouse/api/lists/cursor';
import { createListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import { type ListRules, listReader } from '@gatehouse/api/lists/list-request';
import { bareArray, offsetEnvelope } from '@gatehouse/api/lists/paging';
import { ServiceError } from '@gatehouse/core/errors';
import { anyCharacter } from '@gatehouse/testing/any-character';
import { repetitions } from '@gatehouse/testing/repetitions';
import fc from 'fast-check';
import t from 'tap';
import { Type } from 'typebox';
import { createArraySource, type Row, type RowField } from './array-source.ts';

const rules: ListRules<RowField> = {
  path: '/v1/rows',
  filters: {
    id: { field: 'id', type: 'string' },
    n: { field: 'n', type: 'integer' },
    at: { field: 'at', type: 'date' },
  },
  sort: { fields: { id: 'id', n: 'n', at: 'at' }, by: 'sortBy', order: 'sortOrder' },
  paging: 'offset',
};
const schema = Type.Object({ id: Type.String() });
const item = { schema, write: serializer(schema) as (row: Row) => string };
const { reply } = createListEndpoint({ rules, envelope: offsetEnvelope, item });
const LIMITED = { limited: <T>(work: () => Promise<T>) => work() };
const bare = createListEndpoint({ rules, envelope: bareArray, item });

type Source = ReturnType<typeof createArraySource>;
type Query = Record<string, string>;
type Page = {
  data: { id: string }[];
  links: { next?: string; prev?: string };
  meta: {
    totalItems: number;
    itemsPerPage: number;
    currentPage: number;
    hasNextPage: boolean;
    hasPrevPage: boolean;
  };
};

const ask = async (query: Query, { source }: Source): Promise<Page> =>
  JSON.parse((await reply(query, source, LIMITED)).text);
/** A walk that never ends fails; no list here is longer. */
const MOST_PAGES = 100;
const idsOf = ({ data }: Page) => data.map(({ id }) => id);

/** The query of a link, which is relative and repeats what was asked for, and nothing else. */
function queryOf(link: string, list: Query): Query {
  assert.match(link, /^\/v1\/rows\?/);
  const { cursor = '', ...kept } = Object.fromEntries(new URL(link, 'http://x').searchParams);
  assert.match(cursor, /^[\w-]+$/);
  assert.deepEqual(kept, list);
  return { ...kept, cursor };
}

/** Few different values, so that many rows are equal by what they are sorted by. */
const rows = fc.uniqueArray(
  fc.record({
    id: fc.integer({ min: 0, max: 60 }).map((number) => `row_${String(number).padStart(2, '0')}`),
    n: fc.constantFrom(null, -1, 0, 1, 2),
    at: fc.constantFrom(0, 1, 2).map((ms) => new Date(Date.UTC(2025, 0, 1) + ms)),
  }),
  { selector: ({ id }) => id, maxLength: 25 },
);
const sorts = fc.constantFrom<Query>(
  {},
  { sortOrder: 'desc' },
  { sortBy: 'n' },
  { sortBy: 'n', sortOrder: 'desc' },
  { sortBy: 'at', sortOrder: 'asc' },
  { sortBy: 'at', sortOrder: 'desc' },
);
const filters = fc.constantFrom<Query>(
  {},
  { 'filter[n]': '0,1' },
  { 'filter[n][ne]': '2', 'filter[at][gt]': '2025-01-01' },
);
const limits = fc.constantFrom<Query>({ limit: '1' }, { limit: '2' }, { limit: '3' }, { limit: '7' });
/** A list and what every request for it has. */
const lists = fc.tuple(filters, sorts, limits).map((parts): Query => Object.assign({}, ...parts));

/** What others do between two pages. Deleting goes by place, so that it also clears whole ends of the list. */
const writes = fc.record({
  insert: rows.map((all) => all.slice(0, 3)),
  remove: fc.oneof(
    { weight: 1, arbitrary: fc.array(fc.nat(30), { maxLength: 3 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('before' as const, 'after' as const, 'shown' as const, 'all' as const),
    },
  ),
});
type Writes = { insert: Row[]; remove: number[] | 'before' | 'after' | 'shown' | 'all' };

/** Does them, and says who went away. An id is never given again. */
function write(
  list: Source,
  { insert, remove }: Writes,
  page: string[],
  used: Set<string>,
  all: () => string[],
): void {
  const ids = all();
  const doomed = Array.isArray(remove)
    ? remove.map((place) => list.rows[place]?.id)
    : {
        all: ids,
        shown: page,
        before: ids.slice(0, page[0] === undefined ? 0 : ids.indexOf(page[0])),
        after: ids.slice(ids.indexOf(page.at(-1) ?? '') + 1),
      }[remove];
  for (const id of doomed) if (id !== undefined) list.remove(id);
  for (const row of insert) {
    if (used.has(row.id)) continue;
    used.add(row.id);
    list.insert(row);
  }
}

/** The ids that the list has now, in its order. */
function idsIn(list: Source, query: Query): string[] {
  return list.sorted(listReader(rules)(query)).map(({ id }) => id);
}

t.test('without writes the way back shows the pages of the way there', async () => {
  const inverse = fc.asyncProperty(rows, lists, async (start, query) => {
    const list = createArraySource(start);
    const total = idsIn(list, query).length;
    const limit = Number(query.limit);
    const there = [await ask({ ...query, cursor: '' }, list)];
    for (let link = there[0]?.links.next; link !== undefined; link = there.at(-1)?.links.next) {
      there.push(await ask(queryOf(link, query), list));
      assert.ok(there.length <= MOST_PAGES);
    }
    const back = there.slice(-1);
    for (let link = back[0]?.links.prev; link !== undefined; link = back[0]?.links.prev) {
      back.unshift(await ask(queryOf(link, query), list));
      assert.ok(back.length <= MOST_PAGES);
    }
    const shown = (pages: Page[]) => pages.map(({ data, meta }) => ({ data, meta }));
    assert.deepEqual(shown(back), shown(there));
    assert.deepEqual(there.flatMap(idsOf), idsIn(list, query));
    assert.equal(there.length, Math.max(1, Math.ceil(total / limit)));
    for (const [i, { data, links, meta }] of there.entries()) {
      assert.deepEqual(meta, {
        totalItems: total,
        itemsPerPage: data.length,
        currentPage: i + 1,
        hasNextPage: i < there.length - 1,
        hasPrevPage: i > 0,
      });
      assert.deepEqual(Object.keys(links), [
        ...(meta.hasNextPage ? ['next'] : []),
        ...(meta.hasPrevPage ? ['prev'] : []),
      ]);
    }
    assert.equal(list.counted.length, 1, 'counted for the first page only');
  });
  await fc.assert(inverse, { numRuns: repetitions(150) });
});

t.test('turning round where everything ahead was deleted shows the page one came from', async (t) => {
  const query = { limit: '2', sortBy: 'n' };
  const start = ['a', 'b', 'c', 'd', 'e', 'f'].map((id, i): Row => ({ id, n: i, at: new Date(i) }));
  const go = async (page: Page, way: 'next' | 'prev', list: Source) =>
    ask(queryOf(page.links[way] ?? '', query), list);

  const list = createArraySource(start);
  const first = await ask({ ...query, cursor: '' }, list);
  for (const id of ['c', 'd', 'e', 'f']) list.remove(id);
  const nothing = await go(first, 'next', list);
  t.strictSame([idsOf(nothing), nothing.meta.hasNextPage, nothing.meta.hasPrevPage], [[], false, true]);
  const again = await go(nothing, 'prev', list);
  t.strictSame(
    [idsOf(again), again.meta],
    [['a', 'b'], { ...first.meta, totalItems: 2, hasNextPage: false }],
  );

  const other = createArraySource(start);
  const second = await go(await ask({ ...query, cursor: '' }, other), 'next', other);
  for (const id of ['a', 'b']) other.remove(id);
  const before = await go(second, 'prev', other);
  t.strictSame([idsOf(before), before.meta.hasNextPage, before.meta.hasPrevPage], [[], true, false]);
  t.strictSame(idsOf(await go(before, 'next', other)), ['c', 'd']);
});

/**
 * The walk as one thinks of it: each page begins at a cut between two rows and ends at one. A cut is the place before
 * or after a row, and stays where it is when rows come and go.
 */
t.test('any way through a list that changes: each page begins where the one before it ends', async () => {
  const steps = fc.array(
    fc.record({ way: fc.constantFrom('next' as const, 'prev' as const), writing: writes, limit: limits }),
    {
      maxLength: 15,
    },
  );
  const zigzag = fc.asyncProperty(rows, lists, steps, async (start, query, taken) => {
    const list = createArraySource(start);
    const everSeen = new Map(start.map((row): [string, Row] => [row.id, row]));
    const used = new Set(everSeen.keys());
    const all = () => idsIn(list, query);
    let current = query;
    let page = await ask({ ...current, cursor: '' }, list);
    /** Rows ever there that lie before a cut; those of the list now are counted through it. */
    let [from, to] = [cutBefore(page, undefined), cutAfter(page, undefined)];
    function cutBefore(shown: Page, otherwise: Cut | undefined): Cut | undefined {
      const [first] = idsOf(shown);
      return first === undefined ? otherwise : { id: first, after: false };
    }
    function cutAfter(shown: Page, otherwise: Cut | undefined): Cut | undefined {
      const last = idsOf(shown).at(-1);
      return last === undefined ? otherwise : { id: last, after: true };
    }
    /** The rows before and after a cut, whether or not its row is still there. */
    function parted(cut: Cut): [before: string[], after: string[]] {
      const row = everSeen.get(cut.id);
      assert.ok(row);
      const ghosts = createArraySource([...list.rows.filter(({ id }) => id !== row.id), row]);
      const { sort } = listReader(rules)(query);
      const place = new Map(ghosts.sorted({ conditions: [], sort }).map(({ id }, i) => [id, i]));
      const mark = place.get(cut.id) ?? 0;
      const isBefore = (id: string) => (place.get(id) ?? 0) < mark || (id === cut.id && cut.after);
      return [all().filter(isBefore), all().filter((id) => !isBefore(id))];
    }
    for (const { way, writing, limit } of taken) {
      const link = page.links[way];
      if (link === undefined) continue;
      write(list, writing, idsOf(page), used, all);
      for (const row of list.rows) everSeen.set(row.id, row);
      // Another size of the page from here on.
      const asked = { ...queryOf(link, current), ...limit };
      current = { ...current, ...limit };
      const size = Number(limit.limit);
      const cut = way === 'next' ? to : from;
      assert.ok(cut, 'there was a row to go on from');
      const [before, after] = parted(cut);
      page = await ask(asked, list);
      const expected = way === 'next' ? after.slice(0, size) : before.slice(-size);
      assert.deepEqual(idsOf(page), expected);
      [from, to] = [cutBefore(page, cut), cutAfter(page, cut)];
      const rest = way === 'next' ? after.length : before.length;
      const [beyond, behind] = [rest > expected.length, (way === 'next' ? before : after).length > 0];
      const [hasNext, hasPrevious] = way === 'next' ? [beyond, behind] : [behind, beyond];
      assert.deepEqual([page.meta.hasNextPage, page.meta.hasPrevPage], [hasNext, hasPrevious]);
      assert.deepEqual(
        [page.links.next !== undefined, page.links.prev !== undefined],
        [hasNext, hasPrevious],
      );
      assert.equal(page.meta.currentPage === 1, !hasPrevious, 'page 1 is the first and no other');
      assert.ok(page.meta.totalItems >= expected.length + Number(hasNext) + Number(hasPrevious));
    }
  });
  await fc.assert(zigzag, { numRuns: repetitions(600) });
});
type Cut = { id: string; after: boolean };

t.test('a bare array leads into the same walk', async () => {
  const entered = fc.asyncProperty(rows, lists, fc.nat(10), async (start, query, offset) => {
    const list = createArraySource(start);
    const { text, headers } = await bare.reply({ ...query, offset: String(offset) }, list.source, LIMITED);
    const seen: string[] = JSON.parse(text).map(({ id }: { id: string }) => id);
    let [, link] = /^<([^>]+)>; rel="next"$/.exec(headers.link ?? '') ?? [];
    for (let i = 0; link !== undefined && i < MOST_PAGES; i++) {
      const page = await ask(queryOf(link, query), list);
      seen.push(...idsOf(page));
      link = page.links.next;
    }
    assert.equal(link, undefined, 'the walk has come to its end');
    assert.deepEqual(seen, idsIn(list, query).slice(offset));
  });
  await fc.assert(entered, { numRuns: repetitions(100) });
});

t.test('no cursor makes it fail otherwise than by refusing', async () => {
  const list = createArraySource(
    ['a', 'b', 'c', 'd', 'e'].map((id, i): Row => ({ id, n: i % 3, at: new Date(i) })),
  );
  async function harmless(query: Query): Promise<void> {
    try {
      const { data, meta } = await ask(query, list);
      assert.equal(data.length, meta.itemsPerPage);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      assert.equal(error.kind, 'invalid');
      assert.match(error.message, /^cursor /);
    }
  }
  const good = encodeCursor({
    position: { value: 1, id: 'b' },
    direction: 'next',
    inclusive: false,
    page: 2,
    hash: listHash({ conditions: [], sort: { field: 'n', descending: false } }),
    total: 5,
  });
  const broken = fc
    .tuple(fc.nat(good.length), fc.nat(3), fc.string({ maxLength: 3 }))
    .map(([at, length, text]) => good.slice(0, at) + text + good.slice(at + length));
  const anything = fc.oneof(fc.string({ unit: anyCharacter }), fc.base64String(), broken);
  await fc.assert(
    fc.asyncProperty(sorts, anything, (query, cursor) => harmless({ ...query, cursor })),
    { numRuns: repetitions(500) },
  );

  // Well-formed and of this list, but made by somebody else.
  const forged = fc.record(
    {
      position: fc.record({
        value: fc.oneof(
          fc.string(),
          fc.boolean(),
          fc.constant(null),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
        ),
        id: fc.string({ minLength: 1 }),
      }),
      direction: fc.constantFrom('next' as const, 'previous' as const),
      inclusive: fc.boolean(),
      page: fc.constantFrom(1, 2, 1_000_000_000),
      total: fc.constantFrom(0, 3, Number.MAX_SAFE_INTEGER),
    },
    { requiredKeys: ['position', 'direction', 'inclusive', 'page'] },
  );
  await fc.assert(
    fc.asyncProperty(sorts, forged, async (query, cursor) => {
      const hash = listHash(listReader(rules)(query));
      const asked = { ...query, limit: '2', cursor: encodeCursor({ ...cursor, hash }) };
      await harmless(asked);
      // Whatever its links are, they are good.
      const page = await ask(asked, list).catch(() => undefined);
      for (const link of Object.values(page?.links ?? {})) {
        await ask(queryOf(link, { ...query, limit: '2' }), list);
      }
    }),
    { numRuns: repetitions(500) },
  );
});
