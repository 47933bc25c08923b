import type { KeysetPage, Position } from '@gatehouse/domain/list-query';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import type { StoredDocument } from '../src/collection.ts';
import { keysetPage, offsetPage, pageInMemory, type SortedList } from '../src/keyset.ts';

const { connection } = await startTestDatabase(t, { uri: monitored(await testDatabase(t)) });
const collection = connection.collection<StoredDocument>('things');
await collection.createIndex({ owner: 1, price: 1, _id: 1 }, { name: 'price' });
await collection.createIndex({ owner: 1, _id: 1 }, { name: 'owner' });
await collection.createIndex({ at: 1, _id: 1 }, { name: 'at' });
await collection.createIndex({ sku: 1 }, { name: 'sku', unique: true });

let made = 0;
function thing(i: number): StoredDocument {
  made += 1;
  return {
    _id: `thg_${String(i).padStart(4, '0')}_${made}`,
    owner: i % 3 === 0 ? 'ann' : 'bob',
    // Some have no price, and many the same.
    ...(i % 5 === 0 ? {} : { price: i % 4 }),
    at: new Date(1_750_000_000_000 + (i % 7)),
    sku: `sku ${made}`,
    on: i % 2 === 0,
  };
}

const shared = {
  collection,
  projection: { price: 1, at: 1, sku: 1 },
};
const PRICE = { field: 'price', type: 'number', unique: false } as const;
const LISTS: Record<string, Omit<SortedList, 'sort'> & { sort: Omit<SortedList['sort'], 'descending'> }> = {
  'by price, of one owner': { ...shared, index: 'price', prefix: { owner: 'bob' }, sort: PRICE },
  'by price from 1 below 3': {
    ...shared,
    index: 'price',
    prefix: { owner: 'bob' },
    sort: PRICE,
    range: { lower: { value: 1, inclusive: true }, upper: { value: 3, inclusive: false } },
  },
  'by id, of one owner': {
    ...shared,
    index: 'owner',
    prefix: { owner: 'bob' },
    sort: { field: '_id', type: 'string', unique: true },
  },
  'by id, of two owners': {
    ...shared,
    index: 'owner',
    prefix: { owner: { $in: ['ann', 'bob'] } },
    sort: { field: '_id', type: 'string', unique: true },
    filter: { on: true },
  },
  'by date': { ...shared, index: 'at', sort: { field: 'at', type: 'date', unique: false } },
  'by date, of some': {
    ...shared,
    index: 'at',
    sort: { field: 'at', type: 'date', unique: false },
    filter: { on: true },
    range: { lower: { value: new Date(1_750_000_000_002), inclusive: false } },
  },
  'by sku': { ...shared, index: 'sku', sort: { field: 'sku', type: 'string', unique: true } },
};

/** The whole list, sorted by the database itself. */
function whole({ sort, prefix = {}, range, filter = {} }: SortedList): Promise<StoredDocument[]> {
  const limits = {
    ...(range?.lower && { [range.lower.inclusive ? '$gte' : '$gt']: range.lower.value }),
    ...(range?.upper && { [range.upper.inclusive ? '$lte' : '$lt']: range.upper.value }),
  };
  const inRange = range === undefined ? {} : { [sort.field]: limits };
  const direction = sort.descending ? -1 : 1;
  return collection
    .find({ $and: [prefix, inRange, filter] })
    .sort({ [sort.field]: direction, _id: direction })
    .toArray();
}

const idsOf = (documents: readonly StoredDocument[]) => documents.map(({ _id }) => _id);
const random = (below: number) => Math.floor(Math.random() * below);

t.beforeEach(async () => {
  await collection.deleteMany({});
  await collection.insertMany(Array.from({ length: 40 }, (_, i) => thing(i)));
});

for (const [name, { sort, ...rest }] of Object.entries(LISTS)) {
  for (const descending of [false, true]) {
    const list = { ...rest, sort: { ...sort, descending } };
    const title = `${name}${descending ? ', descending' : ''}`;

    t.test(`${title}: the pages make up the list`, async (t) => {
      const all = idsOf(await whole(list));
      t.ok(all.length > 8);
      for (const limit of [4, 100]) {
        const seen: string[] = [];
        let from: KeysetPage['from'];
        for (let more = true; more; ) {
          const rows = await keysetPage<StoredDocument>(list, { limit, ...(from && { from }) });
          if (from !== undefined) {
            const back = await keysetPage<StoredDocument>(list, {
              limit,
              from: { position: rows.first as Position, direction: 'previous', inclusive: false },
            });
            if (String(idsOf(back.items)) !== String(seen.slice(-limit))) t.fail('back is the page before');
          }
          t.equal(rows.hasPrevious, seen.length > 0);
          seen.push(...idsOf(rows.items));
          more = rows.hasNext;
          from = { position: rows.last as Position, direction: 'next', inclusive: false };
        }
        t.same(seen, all);
        const offset = await offsetPage<StoredDocument>(list, { limit, offset: 5 });
        t.same(idsOf(offset.items), all.slice(5, 5 + limit));
        t.match(offset, { hasNext: all.length > 5 + limit, hasPrevious: true });
      }
    });

    t.test(`${title}: around each position, of existing and of deleted rows`, async (t) => {
      const before = await whole(list);
      const gone = new Set(before.filter((_, i) => i % 3 === 1).map(({ _id }) => _id));
      await collection.deleteMany({ _id: { $in: [...gone] } });
      const left = await whole(list);
      for (const [i, document] of before.entries()) {
        const value = list.sort.field === '_id' ? null : (document[list.sort.field] ?? null);
        const position = {
          value: value instanceof Date ? value.getTime() : value,
          id: document._id,
        } as Position;
        for (const inclusive of [false, true]) {
          const itself = inclusive && !gone.has(document._id) ? [document._id] : [];
          const infront = idsOf(before.slice(0, i)).filter((id) => !gone.has(id));
          const behind = idsOf(before.slice(i + 1)).filter((id) => !gone.has(id));
          const other = inclusive || gone.has(document._id) ? 0 : 1;
          for (const [direction, page, hasNext, hasPrevious] of [
            ['next', [...itself, ...behind], [...itself, ...behind].length > 4, infront.length + other > 0],
            [
              'previous',
              [...infront, ...itself],
              behind.length + other > 0,
              [...infront, ...itself].length > 4,
            ],
          ] as const) {
            const from = { position, direction, inclusive };
            const expected = direction === 'next' ? page.slice(0, 4) : page.slice(-4);
            for (const rows of [
              await keysetPage<StoredDocument>(list, { limit: 4, from }),
              pageInMemory(
                list,
                left.toSorted(() => Math.random() - 0.5),
                { limit: 4, from },
              ),
            ]) {
              const fits =
                String(idsOf(rows.items)) === String(expected) &&
                rows.hasNext === hasNext &&
                rows.hasPrevious === hasPrevious &&
                rows.first?.id === expected[0] &&
                rows.last?.id === expected.at(-1);
              if (!fits)
                t.same({ ...rows, items: idsOf(rows.items) }, { items: expected, hasNext, hasPrevious });
            }
          }
        }
      }
      t.same(idsOf(pageInMemory(list, left, { limit: 5, offset: 3 }).items), idsOf(left.slice(3, 8)));
      t.match(pageInMemory(list, left, { limit: 5, offset: 100 }), {
        items: [],
        hasNext: false,
        hasPrevious: true,
      });
      t.match(await offsetPage(list, { limit: 5, offset: 100 }), {
        items: [],
        hasNext: false,
        hasPrevious: true,
      });
      t.match(pageInMemory(list, [], { limit: 5, offset: 100 }), { items: [], hasPrevious: false });
    });

    t.test(`${title}: during inserts and deletes no row that stays is skipped or repeated`, async (t) => {
      const stays = new Set(idsOf(await whole(list)));
      const seen: string[] = [];
      let from: KeysetPage['from'];
      for (let more = true; more; ) {
        const rows = await keysetPage<StoredDocument>(list, { limit: 3, ...(from && { from }) });
        seen.push(...idsOf(rows.items));
        const position = rows.last ?? from?.position;
        if (position !== undefined) from = { position, direction: 'next', inclusive: false };
        more = rows.hasNext;
        for (const id of [rows.last?.id, [...stays][random(stays.size)]]) {
          stays.delete(id ?? '');
          await collection.deleteOne({ _id: id ?? '' });
        }
        await collection.insertOne(thing(random(40)));
      }
      t.equal(new Set(seen).size, seen.length, 'none twice');
      t.same(
        [...stays].filter((id) => !seen.includes(id)),
        [],
        'none missed',
      );
    });
  }
}

t.test('documents with equal values beyond the page are not read', async (t) => {
  await collection.insertMany(Array.from({ length: 2000 }, () => ({ ...thing(1), owner: 'carl', price: 5 })));
  const list = {
    ...shared,
    index: 'price',
    prefix: { owner: 'carl' },
    sort: { ...PRICE, descending: false },
  };
  const all = await whole(list);
  for (const i of [10, 1990]) {
    for (const direction of ['next', 'previous'] as const) {
      const position = { value: 5, id: all[i]?._id ?? '' };
      const page = { limit: 5, from: { position, direction, inclusive: false } };
      const plans = await explainQueries(connection, () => keysetPage(list, page));
      // The page, one more on its side, and the document at the position.
      t.match(plans, [{ stages: 'LIMIT PROJECTION_SIMPLE FETCH IXSCAN', keys: 7, documents: 7 }]);
      t.equal(plans.length, 1);
    }
  }
});

t.test('an empty list, and an empty range', async (t) => {
  const empty = { items: [], hasNext: false, hasPrevious: false };
  const list = {
    ...shared,
    index: 'price',
    prefix: { owner: 'nobody' },
    sort: { ...PRICE, descending: false },
  };
  t.strictSame(await keysetPage(list, { limit: 5 }), empty);
  t.strictSame(await offsetPage(list, { limit: 5, offset: 5 }), empty);
  const range = { lower: { value: 3, inclusive: true }, upper: { value: 1, inclusive: true } };
  t.strictSame(await keysetPage({ ...list, range }, { limit: 5 }), empty);
  const from = { position: { value: 2, id: 'x' }, direction: 'next', inclusive: true } as const;
  t.strictSame(await keysetPage({ ...list, range }, { limit: 5, from }), empty);
});

t.test('a position outside the range', async (t) => {
  const range = { lower: { value: 1, inclusive: true }, upper: { value: 2, inclusive: true } };
  const list = {
    ...shared,
    index: 'price',
    prefix: { owner: 'bob' },
    sort: { ...PRICE, descending: false },
    range,
  };
  const all = idsOf(await whole(list));
  for (const [value, direction, expected, sides] of [
    [0, 'next', all, { hasNext: false, hasPrevious: false }],
    [0, 'previous', [], { hasNext: true, hasPrevious: false }],
    [3, 'next', [], { hasNext: false, hasPrevious: true }],
    [3, 'previous', all, { hasNext: false, hasPrevious: false }],
  ] as const) {
    // Outside of it, and of the rows that are there as well.
    const from = { position: { value, id: value === 0 ? 'a' : 'x' }, direction, inclusive: false };
    const rows = await keysetPage<StoredDocument>(list, { limit: 100, from });
    t.same(idsOf(rows.items), expected);
    t.match(rows, sides);
  }
});

t.test('positions of other types are rejected', async (t) => {
  const list = (sort: Omit<SortedList['sort'], 'descending'>) => ({
    ...shared,
    index: 'x',
    sort: { ...sort, descending: false },
  });
  const date = { field: 'at', type: 'date', unique: false } as const;
  const id = { field: '_id', type: 'string', unique: true } as const;
  for (const [sort, value] of [
    [PRICE, '1'],
    [date, '2026'],
    [date, 9e15],
    [id, 'x'],
    [{ ...date, unique: true }, null],
  ] as const) {
    const from = { position: { value, id: 'x' }, direction: 'next', inclusive: false } as const;
    const failure = await keysetPage(list(sort), { limit: 5, from }).catch((error: unknown) => error);
    t.match(failure, { kind: 'invalid', status: 400, details: [{ field: 'cursor' }] });
  }
});
