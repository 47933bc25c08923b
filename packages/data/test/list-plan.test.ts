import type {
  Condition,
  FilterOperator,
  ListQuery,
  ListSource,
  Position,
} from '@gatehouse/domain/list-query';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { repetitions } from '@gatehouse/testing/repetitions';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import fc from 'fast-check';
import t from 'tap';
import { defineCollection, type StoredDocument } from '../src/collection.ts';
import { createCounts } from '../src/counts.ts';
import { createDatabase } from '../src/database.ts';
import { createListPlan } from '../src/list-plan.ts';
import { createListSource } from '../src/list-source.ts';
import { createItemStore } from './item-store.ts';

type Field = 'id' | 'name' | 'price' | 'isOpen' | 'kind' | 'sku' | 'madeAt';
type Thing = {
  id: string;
  name: string;
  price: number;
  isOpen: boolean;
  kind: string;
  sku: string;
  madeAt: Date;
  owner: string;
};
type ThingDocument = { _id: string } & ReturnType<typeof stored>;

const FIELDS = {
  id: { stored: '_id', type: 'string', unique: true },
  name: { stored: 'name', type: 'string' },
  price: { stored: 'price', type: 'number', index: 'by_price' },
  isOpen: { stored: 'is_open', type: 'boolean' },
  kind: { stored: 'kind', type: 'enum', values: ['red', 'blue', 'green'], mostCommon: 'red' },
  sku: { stored: 'sku', type: 'string', unique: true },
  madeAt: { stored: 'made_at', type: 'date' },
  // The prefix of the lists of one owner, too.
  owner: { stored: 'owner_id', type: 'string' },
} as const;
const NAMES = Object.keys(FIELDS) as Field[];
/** One collection in which nothing is left of what is deleted, and one that keeps tombstones. */
const PLANS = {
  plain: createListPlan<Field>({ fields: FIELDS, prefix: 'owner_id' }),
  marked: createListPlan<Field>({ fields: FIELDS, prefix: 'owner_id', notDeleted: { sku: { $gt: '' } } }),
};

const database = createDatabase({ uri: monitored(await testDatabase(t)), name: 'lists', logger });
const { connection } = database;
const projection = { name: 1, price: 1, is_open: 1, kind: 1, sku: 1, made_at: 1, owner_id: 1 } as const;
const read = ({
  _id: id,
  is_open: isOpen,
  made_at: madeAt,
  owner_id: owner,
  name,
  price,
  kind,
  sku,
}: ThingDocument): Thing => ({
  id,
  name,
  price,
  isOpen,
  kind,
  sku,
  madeAt,
  owner,
});
function stored({ name, price, isOpen, kind, sku, madeAt, owner }: Omit<Thing, 'id'>) {
  return { name, price, is_open: isOpen, kind, sku, made_at: madeAt, owner_id: owner };
}
function sourceOf(name: keyof typeof PLANS) {
  const plan = PLANS[name];
  const collection = defineCollection(connection, name, plan.indexes);
  return {
    collection,
    lists: createListSource({ collection, plan, projection, read, counts: createCounts({ keepSeconds: 0 }) }),
  };
}
const sources = { plain: sourceOf('plain'), marked: sourceOf('marked') };
const items = createItemStore(connection);
await database.start();
t.teardown(() => database.stop());

const OWN = 40;
function thing(i: number): Thing {
  return {
    id: `thg_${String((i * 37) % 1000).padStart(3, '0')}`,
    name: ['', 'a', 'A', '\u{1f600}', '\uff41'][i % 5] ?? '',
    price: [0, -1.5, 2 ** 53, 0.1, -0, 7][i % 6] ?? 0,
    isOpen: i % 3 === 0,
    kind: ['red', 'red', 'blue', 'red', 'green'][i % 5] ?? '',
    sku: `sku ${(i * 7) % 1000}`,
    madeAt: new Date(1_700_000_000_000 + (i % 4)),
    owner: i < OWN ? 'ann' : 'bob',
  };
}
const own = Array.from({ length: OWN }, (_, i) => thing(i));
const others = Array.from({ length: 60 }, (_, i) => thing(OWN + i));
for (const { collection } of Object.values(sources)) {
  await collection.insertMany([
    ...own.map(({ id, ...rest }) => ({ _id: id, ...stored(rest) })),
    ...others.map(({ id, ...rest }) => ({ _id: id, ...stored(rest) })),
  ]);
}
await sources.marked.collection.insertMany(
  ['gone1', 'gone2'].map((_id) => ({ _id, deleted_at: new Date(), outbox: [] })),
);

function compare(a: unknown, b: unknown): number {
  return typeof a === 'string'
    ? Buffer.compare(Buffer.from(a), Buffer.from(b as string))
    : Number(a) - Number(b);
}

function meets(one: Thing, { field, operator, values }: Condition<Field>): boolean {
  const orders = values.map((value) => compare(one[field], value));
  const [by = 0] = orders;
  const outcomes: Record<FilterOperator, boolean> = {
    eq: by === 0,
    ne: by !== 0,
    gt: by > 0,
    gte: by >= 0,
    lt: by < 0,
    lte: by <= 0,
    in: orders.includes(0),
  };
  return outcomes[operator];
}

/** The ids of the list, in its order. */
function expected(all: readonly Thing[], { conditions, sort }: ListQuery<Field>): string[] {
  const ids = all
    .filter((one) => conditions.every((condition) => meets(one, condition)))
    .sort((a, b) => compare(a[sort.field], b[sort.field]) || compare(a.id, b.id))
    .map(({ id }) => id);
  return sort.descending ? ids.reverse() : ids;
}

async function walked(source: ListSource<Field, Thing>, query: ListQuery<Field>, limit: number) {
  const seen: string[] = [];
  let position: Position | undefined;
  do {
    const from = position && { position, direction: 'next' as const, inclusive: false };
    const rows = await source.byKeyset(query, { limit, ...(from && { from }) });
    seen.push(...rows.items.map(({ id }) => id));
    position = rows.hasNext ? rows.last : undefined;
  } while (position !== undefined);
  return seen;
}

const anyCondition = fc
  .record({
    field: fc.constantFrom(...NAMES),
    operator: fc.constantFrom<FilterOperator[]>('eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in'),
    of: fc.array(fc.nat(99), { minLength: 1, maxLength: 3 }),
  })
  .map(({ field, operator, of }): Condition<Field> => {
    const values = of.map((i) => thing(i)[field]);
    return { field, operator, values: operator === 'in' ? values : values.slice(0, 1) };
  });
const anySort = fc.record({ field: fc.constantFrom(...NAMES), descending: fc.boolean() });
const anyQuery = fc.record({ conditions: fc.array(anyCondition, { maxLength: 3 }), sort: anySort });

for (const [name, { lists }] of Object.entries(sources)) {
  t.test(`${name}: any list equals a model, of one owner and of all`, async () => {
    const property = fc.asyncProperty(
      anyQuery,
      fc.boolean(),
      fc.integer({ min: 1, max: 50 }),
      async (query, isOwn, limit) => {
        const source = isOwn ? lists.within('ann') : lists;
        const all = expected(isOwn ? own : [...own, ...others], query);
        const ids = await walked(source, query, limit);
        if (String(ids) !== String(all)) throw new Error(`${ids}\nis not\n${all}`);
        const { items: page } = await source.byOffset(query, { offset: 2, limit });
        if (String(page.map(({ id }) => id)) !== String(all.slice(2, 2 + limit)))
          throw new Error('by offset');
        if ((await source.count(query.conditions)) !== all.length) throw new Error('the count');
      },
    );
    await fc.assert(property, { numRuns: repetitions(100) });
  });

  t.test(`${name}: every list reads an index in order, and no keys of other owners`, async (t) => {
    // In a short run `ne` stands for the other ranges, of which it is two.
    const operators = (['eq', 'ne', 'in', 'gt', 'lte'] as const).slice(0, repetitions(5, 3 / 5));
    const conditions: Condition<Field>[][] = [
      [],
      ...NAMES.flatMap((field) =>
        operators.map((operator) => [{ field, operator, values: [thing(3)[field]] }]),
      ),
    ];
    for (const field of NAMES) {
      for (const these of conditions) {
        const query = { conditions: these, sort: { field, descending: these.length % 2 === 0 } };
        const about = `${JSON.stringify(these)} by ${field}`;
        for (const source of [lists, lists.within('ann')]) {
          const plans = await explainQueries(connection, () => source.byKeyset(query, { limit: 5 }));
          for (const { stages, keys, documents } of plans) {
            if (!/IXSCAN/.test(stages) || /COLLSCAN|\bSORT\b/.test(stages)) t.fail(`${about}: ${stages}`);
            if (source === lists) continue;
            // One key more than there are ends each range of the index.
            if (keys > OWN + 5 || documents > OWN) t.fail(`${about}: ${keys} keys, ${documents} documents`);
          }
        }
      }
    }
    for (const source of [lists, lists.within('ann')]) {
      for (const these of conditions) {
        const [plan] = await explainQueries(connection, () => source.count(these));
        t.notMatch(plan?.stages, /COLLSCAN/, JSON.stringify(these));
        // What nothing can meet is not asked for.
        const keys = plan?.keys ?? 0;
        if (source !== lists) t.ok(keys <= OWN + 1, `${keys} keys`);
        if (these.length === 0) t.notMatch(plan?.stages, /FETCH/);
      }
    }
  });
}

t.test('an equal string is read from its index, in the order of ids', async (t) => {
  const conditions: Condition<Field>[] = [
    { field: 'kind', operator: 'eq', values: ['green'] },
    { field: 'name', operator: 'eq', values: ['a'] },
  ];
  const query: ListQuery<Field> = { conditions, sort: { field: 'id', descending: true } };
  const indexOf = async (source: ListSource<Field, Thing>) =>
    (await explainQueries(connection, () => source.byKeyset(query, { limit: 5 })))[0]?.indexes;
  t.same(await indexOf(sources.plain.lists), ['name_1__id_1']);
  t.same(await indexOf(sources.plain.lists.within('ann')), ['owner_id_1_name_1__id_1']);
  query.conditions = conditions.slice(0, 1);
  t.same(await indexOf(sources.plain.lists), ['kind_1__id_1']);
});

t.test('the indexes come from the table', async (t) => {
  const indexesOf = async ({ collection }: { collection: { indexes(): Promise<{ name?: string }[]> } }) =>
    (await collection.indexes()).map(({ name }) => name).sort();
  const names = ['is_open', 'kind', 'made_at', 'name'].map((field) => `${field}_1__id_1`);
  const all = [
    '_id_',
    'by_price',
    'sku_1',
    'owner_id_1__id_1',
    'owner_id_1_price_1__id_1',
    'owner_id_1_sku_1',
    ...names,
    ...names.map((name) => `owner_id_1_${name}`),
  ];
  t.same(await indexesOf(sources.plain), all.toSorted());
  t.same(await indexesOf(sources.marked), all.toSorted());
  const sku = async (collection: typeof sources.plain.collection) =>
    (await collection.indexes()).find(({ name }) => name === 'sku_1');
  t.match(await sku(sources.plain.collection), { unique: true, partialFilterExpression: undefined });
  t.match(await sku(sources.marked.collection), {
    unique: true,
    partialFilterExpression: { sku: { $gt: '' } },
  });
});

t.test('paging by cursor during concurrent writes never skips or repeats a row that stays', async () => {
  const collection = sources.plain.collection;
  const ids = fc.uniqueArray(fc.nat(999), { minLength: 1, maxLength: 30 });
  const steps = fc.array(fc.record({ inserted: fc.nat(999), deleted: fc.nat(999) }), { maxLength: 20 });
  let run = 0;
  const property = fc.asyncProperty(
    ids,
    steps,
    anySort,
    fc.integer({ min: 1, max: 5 }),
    async (first, steps, sort, limit) => {
      run += 1;
      const owner = `owner ${run}`;
      const documentOf = (i: number): StoredDocument => {
        const { id, ...rest } = thing(i);
        return { _id: `${run} ${id}`, ...stored({ ...rest, owner, sku: `${run} ${rest.sku}` }) };
      };
      await collection.insertMany(first.map(documentOf));
      const stayed = new Set(first.map((i) => documentOf(i)._id));
      const source = sources.plain.lists.within(owner);
      const seen: string[] = [];
      let position: Position | undefined;
      for (let page = 0; page === 0 || position !== undefined; page += 1) {
        const from = position && { position, direction: 'next' as const, inclusive: false };
        const rows = await source.byKeyset({ conditions: [], sort }, { limit, ...(from && { from }) });
        seen.push(...rows.items.map(({ id }) => id));
        position = rows.hasNext ? rows.last : undefined;
        const step = steps[page];
        if (step === undefined) continue;
        const inserted = documentOf(step.inserted);
        await collection.updateOne({ _id: inserted._id }, { $setOnInsert: inserted }, { upsert: true });
        const { _id: deleted } = documentOf(step.deleted);
        if ((await collection.deleteOne({ _id: deleted })).deletedCount === 1) stayed.delete(deleted);
      }
      const isRepeated = seen.some((id, i) => stayed.has(id) && seen.indexOf(id) !== i);
      const skipped = [...stayed].filter((id) => !seen.includes(id));
      await collection.deleteMany({ owner_id: owner });
      if (isRepeated || skipped.length > 0) throw new Error(`${seen} has not once each of ${[...stayed]}`);
    },
  );
  await fc.assert(property, { numRuns: repetitions(60) });
});

t.test('the example: items of one owner or of all, by name and by time', async (t) => {
  const at = new Date('2026-01-01T00:00:00Z');
  for (const [i, ownerId] of ['ann', 'bob', 'ann'].entries()) {
    const times = { createdAt: new Date(at.getTime() + i), updatedAt: at };
    await items.insert({
      id: `itm_${i}`,
      name: ['Ä', 'b', 'ä'][i] ?? '',
      value: 'null',
      ownerId,
      version: 1,
      ...times,
    });
  }
  const conditions = [{ field: 'name', operator: 'eq', values: ['A\u0308'] }] as const;
  const byTime = { field: 'createdAt', descending: true } as const;
  const idsOf = (rows: { items: { id: string }[] }) => rows.items.map(({ id }) => id);
  const page = { limit: 10, offset: 0 };
  t.same(idsOf(await items.byOffset({ conditions, sort: byTime }, page)), ['itm_2', 'itm_0']);
  t.same(idsOf(await items.within('bob').byOffset({ conditions: [], sort: byTime }, page)), ['itm_1']);
  t.equal(await items.within('ann').count(conditions), 2);
  await items.remove('itm_0', () => ({ events: [{ subject: 'items.item.deleted', data: {} }] }));
  t.equal(await items.within('ann').count(conditions), 1);
  t.equal(await items.count([]), 2);
});
