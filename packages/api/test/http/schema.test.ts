import {
  bodyValidator,
  closed,
  documentedLimits,
  invalidFields,
  publishedSchema,
  queryValidator,
  serializer,
} from '@gatehouse/api/http/schema';
import { MAX_DETAILS, ServiceError } from '@gatehouse/core/errors';
import t from 'tap';
import { Type } from 'typebox';

const Body = Type.Object({
  name: Type.String({ minLength: 2, maxLength: 5 }),
  age: Type.Optional(Type.Integer({ minimum: 0, maximum: 150 })),
  price: Type.Optional(Type.Number()),
  active: Type.Optional(Type.Boolean()),
  tags: Type.Optional(Type.Array(Type.String(), { maxItems: 3 })),
  ids: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  address: Type.Optional(
    Type.Object({ city: Type.String(), lines: Type.Optional(Type.Array(Type.String())) }),
  ),
  role: Type.String({ default: 'user' }),
});
const checkBody = bodyValidator(Body);

const GOOD_BODIES: [label: string, body: unknown, expected: unknown][] = [
  ['the least', { name: 'Ann' }, { name: 'Ann', role: 'user' }],
  [
    'all',
    { name: 'Ann', age: 5, price: 1.5, active: false, tags: ['a'], address: { city: 'x' }, role: 'r' },
    { name: 'Ann', age: 5, price: 1.5, active: false, tags: ['a'], address: { city: 'x' }, role: 'r' },
  ],
  ['a whole number as 5.0', { name: 'Ann', age: JSON.parse('5.0') }, { name: 'Ann', age: 5, role: 'user' }],
  ['characters, not code units', { name: '😀😀😀😀😀' }, { name: '😀😀😀😀😀', role: 'user' }],
  [
    'unknown properties are left alone',
    { name: 'Ann', more: { a: [1] }, address: { city: 'x', zip: '1' } },
    { name: 'Ann', more: { a: [1] }, address: { city: 'x', zip: '1' }, role: 'user' },
  ],
];

t.test('bodies that fit', async (t) => {
  for (const [label, body, expected] of GOOD_BODIES) t.strictSame(checkBody(body), expected, label);
});

t.test('a closed schema takes no other properties', async (t) => {
  const Closed = closed(Type.Object({ ...Body.properties, properties: Type.Optional(Type.String()) }));
  const check = bodyValidator(Closed);
  t.match(check({ name: 'Ann', address: { city: 'x' }, properties: 'y' }), { name: 'Ann' });
  for (const [more, field] of [
    [{ nmae: 1 }, 'nmae'],
    [{ address: { city: 'x', zip: '1' } }, 'address.zip'],
    [{ ['x'.repeat(1000)]: 1 }, 'x'.repeat(100)],
  ] as const) {
    const details = [{ field, message: 'is not a known field' }];
    t.throws(
      () => check({ name: 'Ann', ...more }),
      new ServiceError('invalid', `${field} is not a known field.`, { details }),
    );
  }
});

const BAD_BODIES: [label: string, body: unknown, message: string, fields: string[]][] = [
  ['no body', undefined, 'The body must be a JSON object.', ['The body']],
  ['null', null, 'The body must be a JSON object.', ['The body']],
  ['a list', [], 'The body must be a JSON object.', ['The body']],
  ['a text', 'text', 'The body must be a JSON object.', ['The body']],
  ['nothing in it', {}, 'name is required.', ['name']],
  ['null for a text', { name: null }, 'name must be a string.', ['name']],
  ['a number for a text', { name: 12 }, 'name must be a string.', ['name']],
  ['a text for a number', { name: 'Ann', age: '5' }, 'age must be a whole number.', ['age']],
  ['a fraction', { name: 'Ann', age: 1.5 }, 'age must be a whole number.', ['age']],
  ['too small', { name: 'Ann', age: -1 }, 'age must be at least 0.', ['age']],
  ['too large', { name: 'Ann', age: 151 }, 'age must be at most 150.', ['age']],
  ['infinite', { name: 'Ann', price: JSON.parse('1e400') }, 'price must be a number.', ['price']],
  ['a text for a boolean', { name: 'Ann', active: 'true' }, 'active must be true or false.', ['active']],
  ['a number for a boolean', { name: 'Ann', active: 1 }, 'active must be true or false.', ['active']],
  ['a value for a list', { name: 'Ann', tags: 'a' }, 'tags must be a list.', ['tags']],
  ['too short', { name: 'A' }, 'name must have at least 2 characters.', ['name']],
  ['too long', { name: 'Abcdef' }, 'name must have at most 5 characters.', ['name']],
  ['an empty list', { name: 'Ann', ids: [] }, 'ids must have at least 1 item.', ['ids']],
  ['a long list', { name: 'Ann', tags: ['', '', '', ''] }, 'tags must have at most 3 items.', ['tags']],
  ['in a list', { name: 'Ann', tags: ['a', 1] }, 'tags.1 must be a string.', ['tags.1']],
  ['in an object', { name: 'Ann', address: {} }, 'address.city is required.', ['address.city']],
  [
    'deep',
    { name: 'Ann', address: { city: 'x', lines: ['a', {}] } },
    'address.lines.1 must be a string.',
    ['address.lines.1'],
  ],
  ['several', { age: 'x' }, 'name is required; age must be a whole number.', ['name', 'age']],
];

function failure(action: () => unknown): ServiceError {
  try {
    action();
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error('it was accepted');
}

t.test('bodies that do not, with the fields at fault', async (t) => {
  for (const [label, body, message, fields] of BAD_BODIES) {
    const refused = failure(() => checkBody(body));
    t.strictSame([refused.kind, refused.message], ['invalid', message], label);
    t.strictSame(
      refused.details?.map(({ field }) => field),
      fields,
      label,
    );
  }
});

t.test('a body that is wrong in a hundred thousand places gets a short answer', async (t) => {
  const body = { name: 'Ann', tags: Array(100_000).fill(0) };
  const { message, details } = failure(() => checkBody(body));
  t.ok(JSON.stringify([message, details]).length < 20_000);
});

t.test('a body of 256 KiB costs little more than reading it, wherever it is wrong', async (t) => {
  const Line = Type.Object({ id: Type.String(), quantity: Type.Integer({ minimum: 1 }) });
  const check = bodyValidator(
    Type.Object({
      items: Type.Array(Line),
      groups: Type.Optional(Type.Array(Type.Object({ items: Type.Array(Line) }))),
      kinds: Type.Optional(Type.Array(Type.Union([Type.Literal('a'), Type.Literal('b'), Type.Null()]))),
      few: Type.Optional(Type.Array(Line, { maxItems: 100 })),
    }),
  );
  const filled = (json: string) =>
    Array(Math.floor((256 * 1024) / (json.length + 1)))
      .fill(json)
      .join();
  const valid = '{"id":"a","quantity":1}';
  const bodies = [
    `{"items":[${filled('{}')}]}`,
    `{"items":[${filled('0')}]}`,
    `{"items":[${filled(valid)},{}]}`,
    `{"items":[],"groups":[${filled('{"items":[{}]}')}]}`,
    `{"items":[],"groups":[{"items":[${filled('{}')}]}]}`,
    `{"items":[],"kinds":[${filled('1')}]}`,
    `{"items":[],"few":[${filled('{}')}]}`,
    `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":{}`).join()}}`,
  ];
  /** The least of several times, since other processes add to some. */
  const cpuMs = (action: () => unknown) => {
    const times = Array.from({ length: 25 }, () => {
      const begin = process.cpuUsage();
      action();
      const { user, system } = process.cpuUsage(begin);
      return (user + system) / 1000;
    });
    return Math.min(...times);
  };
  for (const text of bodies) {
    const body = JSON.parse(text);
    const ratio = cpuMs(() => failure(() => check(body))) / cpuMs(() => JSON.parse(text));
    // Each costs a tenth of this, but for many unknown keys: two to three times as much as JSON.parse.
    const limit = text.startsWith('{"k0"') ? 10 : 0.7;
    t.ok(ratio < limit, `${text.slice(0, 40)}… costs ${ratio.toFixed(1)} times as much as JSON.parse`);
  }
  const late = failure(() => check(JSON.parse(bodies[2] ?? '')));
  t.match(late.message, /^items\.\d+\.id is required\.$/, 'a problem far down is told');
});

t.test('the result of one check is not that of another', async (t) => {
  const bad = failure(() => checkBody({}));
  const before = JSON.stringify(bad.details);
  failure(() => checkBody({ name: 1, age: 'x' }));
  checkBody({ name: 'Ann' });
  t.equal(JSON.stringify(bad.details), before);
});

const Query = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  offset: Type.Integer({ minimum: 0, maximum: 10_000, default: 0 }),
  active: Type.Optional(Type.Boolean()),
  q: Type.Optional(Type.String()),
  most: Type.Optional(Type.Number()),
  sort: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
});
const checkQuery = queryValidator(Query);
const PAGE = { limit: 20, offset: 0 };

const GOOD_QUERIES: [query: Record<string, unknown>, expected: Record<string, unknown>][] = [
  [{}, PAGE],
  [
    { limit: '5', offset: '10000' },
    { limit: 5, offset: 10_000 },
  ],
  [{ limit: '100' }, { ...PAGE, limit: 100 }],
  [{ active: 'true' }, { ...PAGE, active: true }],
  [{ active: 'false' }, { ...PAGE, active: false }],
  [{ q: '5' }, { ...PAGE, q: '5' }],
  [{ q: '' }, { ...PAGE, q: '' }],
  [{ q: 'true' }, { ...PAGE, q: 'true' }],
  [{ most: '1.5' }, { ...PAGE, most: 1.5 }],
  [{ sort: ['a', 'b'] }, { ...PAGE, sort: ['a', 'b'] }],
  [{ sort: 'a' }, { ...PAGE, sort: 'a' }],
  [
    { unknown: '1', 'filter[a]': ['b', 'c'] },
    { ...PAGE, unknown: '1', 'filter[a]': ['b', 'c'] },
  ],
];

t.test('queries that fit', async (t) => {
  for (const [query, expected] of GOOD_QUERIES) {
    const given = Object.freeze(structuredClone(query));
    t.strictSame({ ...checkQuery(given) }, expected, JSON.stringify(query));
  }
  const strange = checkQuery(JSON.parse('{"__proto__":{"limit":7},"constructor":"x"}'));
  t.equal(strange.limit, 20, 'a key is only a key');
  t.strictSame({ ...checkQuery(undefined) }, PAGE, 'no query at all');
});

const BAD_QUERIES: [query: Record<string, unknown>, message: string | RegExp][] = [
  [{ limit: '0' }, 'limit must be at least 1.'],
  [{ limit: '101' }, 'limit must be at most 100.'],
  [{ limit: '-1' }, 'limit must be at least 1.'],
  [{ limit: '' }, 'limit must be a whole number.'],
  [{ limit: 'ten' }, 'limit must be a whole number.'],
  [{ limit: '1.5' }, 'limit must be a whole number.'],
  [{ limit: '0x10' }, 'limit must be a whole number.'],
  [{ limit: '1e1' }, 'limit must be a whole number.'],
  [{ limit: ' 7 ' }, 'limit must be a whole number.'],
  [{ limit: 'NaN' }, 'limit must be a whole number.'],
  // Ajv reads these as infinite, and then skips the bounds.
  [{ limit: '1e400' }, /^limit must be/],
  [{ limit: 'Infinity' }, /^limit must be/],
  [{ offset: '-Infinity' }, /^offset must be/],
  [{ most: 'Infinity' }, /^most must be/],
  [{ limit: ['1', '2'] }, 'limit must be a whole number.'],
  [{ limit: ['1'] }, 'limit must be a whole number.'],
  [{ offset: '10001' }, 'offset must be at most 10000.'],
  [{ active: '1' }, 'active must be true or false.'],
  [{ active: 'TRUE' }, 'active must be true or false.'],
  [{ active: '' }, 'active must be true or false.'],
  [{ q: ['a', 'b'] }, 'q must be a string.'],
  [{ most: 'lots' }, 'most must be a number.'],
  [{ limit: 'x', offset: '-1' }, 'limit must be a whole number; offset must be at least 0.'],
];

t.test('queries that do not', async (t) => {
  for (const [query, message] of BAD_QUERIES) {
    const refused = failure(() => checkQuery(query));
    t.equal(refused.kind, 'invalid', JSON.stringify(query));
    if (typeof message === 'string') t.equal(refused.message, message);
    else t.match(refused.message, message);
  }
});

t.test('invalidFields', async (t) => {
  const problems = [
    { field: 'a', message: 'is bad' },
    { field: 'b.c', message: 'is worse' },
    { field: 'd', message: 'Enter a name.' },
  ];
  const { kind, message, details } = invalidFields(problems);
  t.strictSame([kind, message, details], ['invalid', 'a is bad; b.c is worse; d: Enter a name.', problems]);
  const many = invalidFields(Array(26_000).fill(problems[0]));
  t.equal(many.details?.length, MAX_DETAILS);
  t.ok(many.message.length < 500, 'not more than the first are named');
  const other = new ServiceError('invalid', 'It is bad.', { details: Array(26_000).fill(problems[0]) });
  t.equal(other.details?.length, MAX_DETAILS, 'whatever makes the error');
});

t.test('properties that the schema does not name are not written', async (t) => {
  const Inner = Type.Object({ a: Type.String() });
  const write = serializer(
    Type.Object({
      id: Type.String(),
      count: Type.Optional(Type.Integer()),
      phone: Type.Union([Type.String(), Type.Null()]),
      inner: Type.Optional(Inner),
      list: Type.Optional(Type.Array(Inner)),
    }),
  );
  const a = { a: 'x', password_hash: 'hidden' };
  const value = {
    id: 'i',
    phone: null,
    password_hash: 'hidden',
    inner: a,
    list: [a, a],
    __v: 0,
    toJSON: undefined,
  };
  t.strictSame(JSON.parse(write(value)), {
    id: 'i',
    phone: null,
    inner: { a: 'x' },
    list: [{ a: 'x' }, { a: 'x' }],
  });
  t.strictSame(JSON.parse(write({ id: '"\\\n\u2028😀', phone: '1' })), { id: '"\\\n\u2028😀', phone: '1' });
  t.throws(() => write({ id: 'i' } as never), 'what is required must be there');
});

t.test('the message for an enum names its values', (t) => {
  const validate = bodyValidator(Type.Object({ kind: Type.Unsafe<'a' | 'b'>({ enum: ['a', 'b'] }) }));
  t.throws(() => validate({ kind: 'c' }), { message: 'kind must be one of a, b.' });
  t.end();
});

t.test('the message for several types names them', (t) => {
  const either = Type.Unsafe<string | null>({ type: ['string', 'null'] });
  const validate = bodyValidator(Type.Object({ name: either }));
  for (const name of ['Ann', null]) t.strictSame(validate({ name }), { name });
  t.throws(() => validate({ name: 1 }), { message: 'name must be a string or null.' });
  t.end();
});

t.test('documented limits are published, and left to the aggregate', async (t) => {
  const limits = documentedLimits({ minLength: 8, pattern: '^a' });
  const schema = Type.Object({
    text: Type.String({ description: 'A text.', ...limits }),
    list: Type.Optional(Type.Array(Type.String(), { ...documentedLimits({ minItems: 1 }) })),
  });
  t.same(bodyValidator(schema)({ text: 'short', list: [] }), { text: 'short', list: [] });
  t.same(queryValidator(Type.Object({ text: schema.properties.text }))({ text: '' }), { text: '' });
  t.strictSame(publishedSchema(schema).properties, {
    text: { type: 'string', description: 'A text.', minLength: 8, pattern: '^a' },
    list: { type: 'array', items: { type: 'string' }, minItems: 1 },
  });
});
