import assert from 'node:assert/strict';
import { encodeCursor, listHash } from '@gatehouse/api/lists/cursor';
import { listQuerySchema } from '@gatehouse/api/lists/list-query-schema';
import { type ListRules, listReader } from '@gatehouse/api/lists/list-request';
import { ServiceError } from '@gatehouse/core/errors';
import { anyCharacter } from '@gatehouse/testing/any-character';
import { repetitions } from '@gatehouse/testing/repetitions';
import fc from 'fast-check';
import t from 'tap';

type Field = 'id' | 'name' | 'status' | 'createdAt' | 'count';

/** As a list in /v2: pages, status as a plain parameter, nothing deprecated. */
const modern: ListRules<Field> = {
  path: '/v2/things',
  filters: {
    name: { field: 'name', type: 'string' },
    status: { field: 'status', type: 'string', values: ['active', 'inactive'] },
    created_at: { field: 'createdAt', type: 'date' },
    count: { field: 'count', type: 'integer' },
  },
  plain: ['status'],
  paging: 'page',
};
/** As a list in /v1: offsets, a sort, every filter plainly as well. */
const legacy: ListRules<Field> = {
  path: '/v1/things',
  filters: modern.filters,
  legacy: true,
  plain: ['status'],
  sort: {
    fields: { id: 'id', name: 'name', createdAt: 'createdAt', count: 'count' },
    by: 'sortBy',
    order: 'sortOrder',
  },
  paging: 'offset',
};
const readModern = listReader(modern);
const readLegacy = listReader(legacy);
const BY_ID = { field: 'id', descending: false } as const;
const eq = (field: Field, value: string | number) => ({ field, operator: 'eq', values: [value] });

t.test('absent parameters', async (t) => {
  const rest = { conditions: [], sort: BY_ID, limit: 20, deprecated: false, linkParameters: [] };
  t.strictSame(readModern({}), { ...rest, page: { kind: 'offset', offset: 0 } });
  t.strictSame(readLegacy(Object.create(null)), { ...rest, page: { kind: 'offset', offset: 0 } });
  t.strictSame(readLegacy(undefined), { ...rest, page: { kind: 'offset', offset: 0 } }, 'no query at all');
});

t.test('pages', async (t) => {
  const good: [query: Record<string, string>, limit: number, page: unknown][] = [
    [{ limit: '1', offset: '10000' }, 1, { kind: 'offset', offset: 10_000 }],
    [{ limit: '100', offset: '007' }, 100, { kind: 'offset', offset: 7 }],
    [{ page: '9' }, 20, { kind: 'offset', offset: 160 }],
    [{ page: '1' }, 20, { kind: 'offset', offset: 0 }],
    [{ page: '501' }, 20, { kind: 'offset', offset: 10_000 }],
    [{ page: '101', limit: '100' }, 100, { kind: 'offset', offset: 10_000 }],
    [{ page: '10001', limit: '1' }, 1, { kind: 'offset', offset: 10_000 }],
    [{ cursor: '' }, 20, { kind: 'cursor', cursor: undefined }],
    [{ cursor: '', limit: '3' }, 3, { kind: 'cursor', cursor: undefined }],
  ];
  // Whichever of the two the list tells of.
  for (const reader of [readLegacy, readModern]) {
    for (const [query, limit, page] of good) {
      const { limit: read, page: found } = reader(query);
      t.strictSame([read, found], [limit, page], JSON.stringify(query));
    }
    t.throws(() => reader({ offset: '0', page: '1' }), /page cannot be given together with offset/);
  }
});

t.test('filters and sort', async (t) => {
  const read = readModern({
    'filter[name]': 'a,b',
    status: 'active',
    'filter[status][ne]': 'inactive',
    'filter[created_at][gte]': '2025-07-10',
    limit: '7',
    sortBy: 'none of this list',
    constructor: 'x',
  });
  t.strictSame(read.conditions, [
    { field: 'name', operator: 'in', values: ['a', 'b'] },
    eq('status', 'active'),
    { field: 'status', operator: 'ne', values: ['inactive'] },
    { field: 'createdAt', operator: 'gte', values: [new Date('2025-07-10')] },
  ]);
  t.equal(read.deprecated, false);
  t.strictSame(read.linkParameters, [
    ['filter[name]', 'a,b'],
    ['status', 'active'],
    ['filter[status][ne]', 'inactive'],
    ['filter[created_at][gte]', '2025-07-10'],
    ['limit', '7'],
  ]);
  t.strictSame(read.sort, { field: 'createdAt', descending: false }, 'a range comes in its own order');
  t.strictSame(readModern({ 'filter[created_at]': '2025-07-10', status: 'active' }).sort, BY_ID);
  t.strictSame(readLegacy({ 'filter[name][lt]': 'x', sortOrder: 'desc' }).sort, {
    field: 'name',
    descending: true,
  });
  const two = { 'filter[count][gt]': '1', 'filter[created_at][lt]': '2025-07-10' };
  t.equal(readModern(two).sort.field, 'createdAt', 'of two ranges the field that stands first in the rules');
  t.strictSame(readLegacy({ 'filter[name][lt]': 'x', sortBy: 'createdAt' }).sort.field, 'createdAt');

  t.strictSame(readLegacy({ sortBy: 'name' }).sort, { field: 'name', descending: false });
  const down = readLegacy({ limit: '5', sortOrder: 'desc', sortBy: 'createdAt', cursor: '' });
  t.strictSame(down.sort, { field: 'createdAt', descending: true });
  t.strictSame(down.linkParameters, [
    ['sortBy', 'createdAt'],
    ['sortOrder', 'desc'],
    ['limit', '5'],
  ]);
  t.strictSame(readLegacy({ sortOrder: 'desc' }).sort, { field: 'id', descending: true });
});

t.test('a filter where it is none is refused, since ignored it would bring everybody', async (t) => {
  t.throws(() => readModern({ count: '5' }), /count is a filter: write filter\[count\]/);
  const beside = listReader({ ...legacy, elsewhere: ['nick', 'name'] });
  t.throws(() => beside({ nick: 'x' }), /nick is no filter here; there are/);
  t.strictSame(beside({ name: 'x' }).conditions, [eq('name', 'x')], 'one of its own, too');
  t.strictSame(beside({ other: 'x' }).conditions, []);
});

t.test('filters that links could not repeat are refused', async (t) => {
  const values = Array.from({ length: 48 }, () => '!'.repeat(40)).join(',');
  t.throws(() => readModern({ 'filter[name]': values }), /filter must have at most 4096 characters in all/);
  t.doesNotThrow(() => readModern({ 'filter[name]': values.replaceAll('!', 'x') }));
  for (const bad of ['\0', 'a\0b', '\ud800']) {
    t.throws(() => readModern({ 'filter[name]': bad }), /must be a string/);
    t.throws(() => readLegacy({ name: bad }), /must be a string/);
  }
});

t.test('the deprecated form is known from the forms that are not', async (t) => {
  const plainly = readLegacy({ name: 'Doe, Jane', count: '5' });
  t.strictSame(plainly.conditions, [eq('name', 'Doe, Jane'), eq('count', 5)]);
  t.strictSame(plainly.linkParameters, [
    ['name', 'Doe, Jane'],
    ['count', '5'],
  ]);
  t.equal(plainly.deprecated, true);
  for (const query of [{ status: 'active' }, { 'filter[name]': 'a' }, { other: 'a' }, { limit: '1' }]) {
    t.equal(readLegacy(query).deprecated, false, JSON.stringify(query));
  }
  t.equal(readLegacy({ status: 'active', name: 'x' }).deprecated, true);
});

t.test('both forms of one field hold', async (t) => {
  const { conditions } = readLegacy({ status: 'active', 'filter[status]': 'inactive' });
  t.strictSame(conditions, [eq('status', 'active'), eq('status', 'inactive')]);
});

function failure(read: (query: unknown) => unknown, query: unknown): ServiceError {
  try {
    read(query);
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error(`it was accepted: ${JSON.stringify(query)}`);
}

const many = (count: number, name: (i: number) => string, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [name(i), value]));

const REFUSED: [query: Record<string, unknown>, field: string, message: string | RegExp][] = [
  [{ limit: '0' }, 'limit', 'must be at least 1'],
  [{ limit: '-1' }, 'limit', 'must be at least 1'],
  [{ limit: '101' }, 'limit', 'must be at most 100'],
  [{ limit: '9'.repeat(400) }, 'limit', 'must be at most 100'],
  ...['', 'ten', '1.5', '1e1', '0x10', ' 7', '7 ', '+7', 'Infinity', '٣'].map(
    (limit): [Record<string, unknown>, string, string] => [{ limit }, 'limit', 'must be a whole number'],
  ),
  [{ limit: ['1', '2'] }, 'limit', 'must be given once'],
  [{ offset: '-1' }, 'offset', 'must be at least 0'],
  [{ offset: '' }, 'offset', 'must be a whole number'],
  [{ offset: '10001' }, 'offset', 'must be at most 10000; go on with the cursor parameter'],
  [{ sortBy: 'password' }, 'sortBy', 'must be one of id, name, createdAt, count'],
  [{ sortBy: '' }, 'sortBy', /^must be one of/],
  [{ sortBy: 'constructor' }, 'sortBy', /^must be one of/],
  [{ sortBy: ['id', 'name'] }, 'sortBy', 'must be given once'],
  [{ sortOrder: 'ASC' }, 'sortOrder', 'must be asc or desc'],
  [{ sortOrder: '' }, 'sortOrder', 'must be asc or desc'],
  [{ 'filter[nme]': 'x' }, 'filter[nme]', 'is no filter here; there are name, status, created_at, count'],
  [{ 'filter[createdAt]': '2025-07-10' }, 'filter[createdAt]', /^is no filter here/],
  [{ 'filter[constructor]': 'x' }, 'filter[constructor]', /^is no filter here/],
  [{ 'filter[__proto__]': 'x' }, 'filter[__proto__]', /^is no filter here/],
  [{ 'filter[name': 'x' }, 'filter[name', 'must be written filter[field] or filter[field][operator]'],
  [{ 'filter[name][]': 'x' }, 'filter[name][]', /^must be written/],
  [{ 'filter[name][like]': 'x' }, 'filter[name][like]', /^has no such operator/],
  [{ 'filter[name]': '' }, 'filter[name]', 'must not be empty'],
  [{ 'filter[name]': ['a', 'b'] }, 'filter[name]', 'must be given once'],
  [{ 'filter[status]': 'gone' }, 'filter[status]', 'must be one of active, inactive'],
  [{ 'filter[created_at][gte]': 'now' }, 'filter[created_at][gte]', /^must be a date/],
  [{ [`filter[${'x'.repeat(5000)}]`]: 'x' }, `filter[${'x'.repeat(53)}…`, /^is no filter here/],
  [{ status: 'gone' }, 'status', 'must be one of active, inactive'],
  [{ status: '' }, 'status', 'must not be empty'],
  [{ status: ['active', 'active'] }, 'status', 'must be given once'],
  [{ created_at: 'now' }, 'created_at', /^must be a date/],
  [{ 'filter[name][ne]': 'x,'.repeat(20).concat('x') }, 'filter', 'must have at most 20 conditions'],
  [{ cursor: 'x' }, 'cursor', 'is not one of a link of this list'],
  [{ cursor: ['', ''] }, 'cursor', 'must be given once'],
  [{ cursor: '', offset: '0' }, 'cursor', 'cannot be given together with offset'],
  [{ cursor: '', page: '1' }, 'cursor', 'cannot be given together with page'],
];

t.test('errors name the parameter', async (t) => {
  for (const [query, field, message] of REFUSED) {
    const { kind, details } = failure(readLegacy, query);
    const label = JSON.stringify(query).slice(0, 80);
    t.equal(kind, 'invalid', label);
    t.match(details, [{ field, message }], label);
    t.equal(details?.length, 1, label);
  }
  t.match(failure(readModern, { page: '0' }).details, [{ field: 'page', message: 'must be at least 1' }]);
  for (const query of [{ page: '502' }, { page: '102', limit: '100' }, { page: '9'.repeat(30) }]) {
    t.match(failure(readModern, query).message, /^page must be at most \d+; go on with the cursor/);
  }
  t.strictSame(failure(readModern, { cursor: '', offset: '0' }).details, [
    { field: 'cursor', message: 'cannot be given together with offset' },
  ]);
});

t.test('all errors are reported at once, up to a readable number', async (t) => {
  const { message, details } = failure(readLegacy, { limit: 'x', offset: '-1', 'filter[a]': 'b' });
  t.strictSame(
    details?.map(({ field }) => field),
    ['filter[a]', 'limit', 'offset'],
  );
  t.match(message, /^filter\[a\] is no filter here.*; limit must be a whole number; offset must be/);
  const flood = failure(
    readLegacy,
    many(10_000, (i) => `filter[x${i}]`, 'x'),
  );
  t.equal(flood.details?.length, 20);
});

const listOf = (query: Record<string, string>, value: string | number | boolean | null) => {
  const { conditions, sort } = readLegacy(query);
  const position = { value, id: 'thing_1' };
  const hash = listHash({ conditions, sort });
  return { position, direction: 'next', inclusive: false, page: 2, hash } as const;
};

t.test('a cursor goes with its filters and its sort, however they are written', async (t) => {
  const query = { sortBy: 'name', 'filter[status]': 'active', 'filter[count][gt]': '3' };
  const cursor = listOf(query, 'ann');
  const text = encodeCursor(cursor);
  const accepted = [
    query,
    { 'filter[count][gt]': '3', 'filter[status]': 'active', sortBy: 'name' },
    { ...query, 'filter[status]': undefined, status: 'active' },
    { ...query, limit: '50', sortOrder: 'asc', unknown: 'x' },
  ];
  for (const other of accepted) {
    const sent = JSON.parse(JSON.stringify({ ...other, cursor: text }));
    t.strictSame(readLegacy(sent).page, { kind: 'cursor', cursor }, JSON.stringify(other));
  }
  const refused = [
    { sortBy: 'name' },
    { ...query, 'filter[count][gt]': '4' },
    { ...query, 'filter[count][gte]': '3' },
    { ...query, sortOrder: 'desc' },
    { ...query, name: 'x' },
  ];
  for (const other of refused) {
    t.match(
      failure(readLegacy, { ...other, cursor: text }).message,
      /^cursor belongs to a list with other filters or another sort/,
      JSON.stringify(other),
    );
  }
});

t.test('a cursor whose value the sorted field cannot have is none', async (t) => {
  const values: [
    sortBy: string,
    good: (string | number | null)[],
    bad: (string | number | boolean | null)[],
  ][] = [
    ['id', [null], ['thing_1', 1, true]],
    ['name', ['ann', '', null], [1, false]],
    ['createdAt', [0, 1e12, null], ['2025-07-10', true, 9e15]],
    ['count', [5, null], ['5', false]],
  ];
  for (const [sortBy, good, bad] of values) {
    const query = (value: string | number | boolean | null) => ({
      sortBy,
      cursor: encodeCursor(listOf({ sortBy }, value)),
    });
    for (const value of good) t.equal(readLegacy(query(value)).page.kind, 'cursor', `${sortBy} ${value}`);
    for (const value of bad) t.match(failure(readLegacy, query(value)).message, /^cursor is not/, sortBy);
  }
});

t.test('no query makes it fail otherwise than by refusing', async () => {
  const names = fc.oneof(
    fc.constantFrom('limit', 'offset', 'page', 'cursor', 'sortBy', 'sortOrder', 'name', 'status', 'count'),
    fc.constantFrom('filter[name]', 'filter[created_at][gte]', 'filter[count][in]', 'filter[status][ne]'),
    fc.string().map((name) => `filter[${name}]`),
    fc.string(),
  );
  const texts = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.integer().map(String),
    fc.constantFrom('', 'asc', 'a,b'),
  );
  const queries = fc.dictionary(names, fc.oneof(texts, fc.array(texts, { minLength: 2 })), {
    noNullPrototype: false,
  });
  fc.assert(
    fc.property(fc.constantFrom(readModern, readLegacy), queries, (read, query) => {
      try {
        const { limit, page } = read(query);
        assert.ok(limit >= 1 && limit <= 100);
        if (page.kind === 'offset') assert.ok(page.offset >= 0 && page.offset <= 10_000);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        assert.equal(error.kind, 'invalid');
        assert.ok((error.details?.length ?? 0) >= 1);
      }
    }),
    { numRuns: repetitions(1000) },
  );
});

t.test('rules that contradict themselves are refused at once', async (t) => {
  const limit = { limit: { field: 'count', type: 'integer' } } as const;
  t.throws(() => listReader({ ...modern, plain: [], filters: limit }), /name of another parameter: limit/);
  const sortBy = { ...legacy.filters, sortBy: { field: 'name', type: 'string' } } as const;
  t.throws(() => listReader({ ...legacy, filters: sortBy }), /name of another parameter: sortBy/);
  t.throws(
    () => listReader({ ...modern, plain: ['constructor'] }),
    /plain parameter is not a filter: constructor/,
  );
});

t.test('the schema names every parameter and none other', async (t) => {
  const { properties, required } = JSON.parse(JSON.stringify(listQuerySchema(modern)));
  t.strictSame(Object.keys(properties), [
    'limit',
    'page',
    'cursor',
    'filter[name]',
    'filter[status]',
    'status',
    'filter[created_at]',
    'filter[created_at][gt]',
    'filter[created_at][gte]',
    'filter[created_at][lt]',
    'filter[created_at][lte]',
    'filter[count]',
  ]);
  t.equal(required, undefined, 'all are optional');
  for (const [name, schema] of Object.entries(properties))
    t.hasProps(Object(schema), ['type', 'description'], name);
  t.match(properties.limit, { type: 'integer', minimum: 1, maximum: 100, default: 20 });
  t.match(properties.status, { type: 'string', enum: ['active', 'inactive'] });
  t.notHas(properties.status, { deprecated: true });
  t.match(
    properties['filter[created_at]'].description,
    /filter\[created_at\]\[operator\]: ne, gt, gte, lt, lte, in/,
  );
  t.match(properties['filter[status]'].description, /One of active, inactive.*: ne, in\.$/);

  t.same(listQuerySchema({ ...modern, required: ['status'] }).required, ['status']);

  const old = JSON.parse(JSON.stringify(listQuerySchema(legacy))).properties;
  t.match(old.offset, { type: 'integer', minimum: 0, maximum: 10_000, default: 0 });
  t.notHas(old, { page: {} });
  t.match(old.sortBy, { enum: ['id', 'name', 'createdAt', 'count'] });
  t.match(old.sortOrder, { enum: ['asc', 'desc'], default: 'asc' });
  t.match(old.count, { type: 'integer', deprecated: true });
  t.match(old.name, { type: 'string', deprecated: true });
  t.notHas(old.status, { deprecated: true });
});
