import assert from 'node:assert/strict';
import {
  FILTER_LIMITS,
  type FilterField,
  parseFilterParameter,
  readFilter,
  readPlainFilter,
} from '@gatehouse/api/lists/filters';
import { anyCharacter } from '@gatehouse/testing/any-character';
import { repetitions } from '@gatehouse/testing/repetitions';
import fc from 'fast-check';
import t from 'tap';

const text: FilterField<'name'> = { field: 'name', type: 'string' };
const status: FilterField<'status'> = { field: 'status', type: 'string', values: ['active', 'inactive'] };
const at: FilterField<'at'> = { field: 'at', type: 'date' };
const count: FilterField<'count'> = { field: 'count', type: 'integer' };
const open: FilterField<'open'> = { field: 'open', type: 'boolean' };

t.test('names of parameters', async (t) => {
  t.strictSame(parseFilterParameter('filter[a]'), { name: 'a', operator: 'eq' });
  t.strictSame(parseFilterParameter('filter[created_at][gte]'), { name: 'created_at', operator: 'gte' });
  const bad = [
    'filter',
    'filter[]',
    'filter[a',
    'filter[a]]',
    'filter[a][]',
    'filter[a][b][c]',
    'filter[a]x',
  ];
  for (const name of [...bad, 'xfilter[a]', 'filter[[a]]', 'filter[a] [gt]', '']) {
    t.equal(parseFilterParameter(name), undefined, name);
  }
});

const READ: [field: FilterField<string>, operator: string, text: string, conditions: unknown[]][] = [
  [text, 'eq', 'ann', [['eq', 'ann']]],
  [text, 'eq', ' $Ann {}', [['eq', ' $Ann {}']]],
  [text, 'eq', 'ann,bob', [['in', 'ann', 'bob']]],
  [text, 'in', 'ann', [['in', 'ann']]],
  [text, 'in', 'ann,bob,ann', [['in', 'ann', 'bob', 'ann']]],
  [text, 'ne', 'ann', [['ne', 'ann']]],
  [
    text,
    'ne',
    'ann,bob',
    [
      ['ne', 'ann'],
      ['ne', 'bob'],
    ],
  ],
  [text, 'gte', 'a,b', [['gte', 'a,b']]],
  [text, 'lt', 'b', [['lt', 'b']]],
  [text, 'eq', 'x'.repeat(256), [['eq', 'x'.repeat(256)]]],
  [text, 'eq', '😀'.repeat(256), [['eq', '😀'.repeat(256)]]],
  [text, 'in', Array(50).fill('x').join(','), [['in', ...Array(50).fill('x')]]],
  [status, 'eq', 'active,inactive', [['in', 'active', 'inactive']]],
  [status, 'ne', 'active', [['ne', 'active']]],
  [open, 'eq', 'true', [['eq', true]]],
  [open, 'in', 'true,false', [['in', true, false]]],
  [count, 'gt', '12', [['gt', 12]]],
  [count, 'eq', '-3,0', [['in', -3, 0]]],
  [count, 'lte', '9007199254740991', [['lte', Number.MAX_SAFE_INTEGER]]],
  [at, 'gte', '2025-07-10', [['gte', new Date(Date.UTC(2025, 6, 10))]]],
  [at, 'lte', '2026-01-31', [['lt', new Date('2026-02-01T00:00:00.000Z')]]],
  [at, 'gt', '2026-12-31', [['gte', new Date('2027-01-01T00:00:00.000Z')]]],
  [at, 'lt', '2026-01-31', [['lt', new Date('2026-01-31T00:00:00.000Z')]]],
  [at, 'lte', '2026-01-31T00:00:00Z', [['lte', new Date('2026-01-31T00:00:00.000Z')]]],
  [at, 'lt', '2025-07-10T12:34:56Z', [['lt', new Date('2025-07-10T12:34:56.000Z')]]],
  [at, 'gt', '2025-07-10T12:34:56.7Z', [['gt', new Date('2025-07-10T12:34:56.700Z')]]],
  [at, 'eq', '2025-07-10T12:34:56.123456+02:00', [['eq', new Date('2025-07-10T10:34:56.123Z')]]],
  [at, 'eq', '2025-07-10t12:34:56z', [['eq', new Date('2025-07-10T12:34:56.000Z')]]],
  [at, 'eq', '2025-07-10T23:59:59-23:59', [['eq', new Date('2025-07-11T23:58:59.000Z')]]],
  [at, 'eq', '2024-02-29', [['eq', new Date(Date.UTC(2024, 1, 29))]]],
  [at, 'in', '2025-01-01,2025-01-02', [['in', new Date('2025-01-01'), new Date('2025-01-02')]]],
];

t.test('conditions', async (t) => {
  for (const [field, operator, given, expected] of READ) {
    const read = readFilter(field, operator, given);
    const conditions = 'problem' in read ? read : read.map(({ operator, values }) => [operator, ...values]);
    t.strictSame(conditions, expected, `${field.type} ${operator} ${given.slice(0, 40)}`);
    if (!('problem' in read)) t.ok(read.every((condition) => condition.field === field.field));
  }
});

const DATE = /^must be a date/;
const REFUSED: [field: FilterField<string>, operator: string, text: string, problem: RegExp][] = [
  [text, 'like', 'a', /^has no such operator; there are eq, ne, gt, gte, lt, lte, in$/],
  [text, 'constructor', 'a', /^has no such operator/],
  [status, 'gt', 'active', /^has no such operator; there are eq, ne, in$/],
  [open, 'lte', 'true', /^has no such operator; there are eq, ne, in$/],
  [text, 'eq', '', /^must not be empty$/],
  [text, 'in', 'a,', /^must not be empty$/],
  [text, 'eq', ',', /^must not be empty$/],
  [text, 'gt', '', /^must not be empty$/],
  [text, 'eq', 'x'.repeat(257), /^must have at most 256 characters$/],
  [text, 'in', Array(51).fill('x').join(','), /^must have at most 50 values$/],
  [text, 'ne', 'x,'.repeat(10_000), /^must have at most 50 values$/],
  [status, 'eq', 'gone', /^must be one of active, inactive$/],
  [status, 'eq', 'active,Active', /^must be one of active, inactive$/],
  [open, 'eq', '1', /^must be true or false$/],
  [open, 'eq', 'TRUE', /^must be true or false$/],
  ...['1.5', 'x', '1e3', '0x1', ' 1', '+1', '9007199254740992', '99999999999999999999'].map(
    (value): [FilterField<string>, string, string, RegExp] => [
      count,
      'eq',
      value,
      /^must be a whole number$/,
    ],
  ),
  ...[
    'now',
    '2025',
    '2025-07',
    '20250710',
    '1752105600',
    '2025-7-1',
    '2025-13-01',
    '2025-00-10',
    '2025-02-29',
    '2025-04-31',
    '2025-07-10T12:00Z',
    '2025-07-10T12:00:00',
    '2025-07-10 12:00:00Z',
    '2025-07-10T12:00:00 02:00',
    '2025-07-10T12:00:00+0200',
    '2025-07-10T12:00:00+24:00',
    '2025-07-10T24:00:00Z',
    '2025-07-10T12:60:00Z',
    '2025-12-31T23:59:60Z',
    '2025-07-10T12:00:00.Z',
    '2025-07-10T12:00:00.1234567890Z',
    '2025-07-10T12:00:00Z ',
    '+002025-07-10T12:00:00Z',
    'Thu, 10 Jul 2025 12:00:00 GMT',
  ].map((value): [FilterField<string>, string, string, RegExp] => [at, 'gte', value, DATE]),
];

t.test('errors', async (t) => {
  for (const [field, operator, given, problem] of REFUSED) {
    const read = readFilter(field, operator, given);
    t.match(read, { problem }, `${field.type} ${operator} ${given.slice(0, 40)}`);
  }
});

t.test('the plain form has one value, commas and all', async (t) => {
  const { values } = status;
  t.strictSame(readPlainFilter(text, 'Doe, Jane'), [
    { field: 'name', operator: 'eq', values: ['Doe, Jane'] },
  ]);
  t.strictSame(readPlainFilter(count, '5'), [{ field: 'count', operator: 'eq', values: [5] }]);
  t.strictSame(readPlainFilter(status, 'active,inactive'), {
    problem: `must be one of ${values?.join(', ')}`,
  });
  t.strictSame(readPlainFilter(text, ''), { problem: 'must not be empty' });
});

t.test('every time that a date can hold is read as it is written', async () => {
  const range = { min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z') };
  fc.assert(
    fc.property(fc.date({ ...range, noInvalidDate: true }), (date) => {
      assert.deepStrictEqual(readFilter(at, 'eq', date.toISOString()), [
        { field: 'at', operator: 'eq', values: [date] },
      ]);
    }),
  );
});

t.test('no text makes it fail, and what is read has the type of the field', async () => {
  const operators = fc.oneof(fc.constantFrom('eq', 'ne', 'gt', 'in'), fc.string());
  const texts = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.integer().map(String),
    fc.stringMatching(/^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d))?$/),
  );
  const types = {
    string: 'string',
    date: 'object',
    integer: 'number',
    number: 'number',
    boolean: 'boolean',
    search: 'string',
  };
  fc.assert(
    fc.property(
      fc.constantFrom(text, status, at, count, open),
      operators,
      texts,
      (field, operator, given) => {
        const read = readFilter<string>(field, operator, given);
        if ('problem' in read) return;
        for (const { values } of read) {
          assert.ok(values.length >= 1 && values.length <= FILTER_LIMITS.values);
          assert.ok(values.every((value) => typeof value === types[field.type]));
          assert.ok(!values.some((value) => Number.isNaN(value instanceof Date ? value.getTime() : 0)));
        }
      },
    ),
    { numRuns: repetitions(500) },
  );
});
