import { filterPattern } from '@gatehouse/api/lists/filter-patterns';
import { FILTER_LIMITS, type FilterField, readFilter } from '@gatehouse/api/lists/filters';
import { anyCharacter } from '@gatehouse/testing/any-character';
import { repetitions } from '@gatehouse/testing/repetitions';
import fc from 'fast-check';
import t from 'tap';

// The published pattern of a filter against what reads it: whatever one takes, the other takes.

const FIELDS: FilterField<string>[] = [
  ...(['string', 'date', 'integer', 'number', 'boolean', 'search'] as const).map((type) => ({
    field: 'f',
    type,
  })),
  { field: 'f', type: 'string', values: ['active', 'a.b', 'x|y'] },
];

const day = fc
  .tuple(
    fc.integer({ min: 1999, max: 2101 }),
    fc.integer({ min: 0, max: 13 }),
    fc.integer({ min: 0, max: 32 }),
  )
  .map(([year, month, date]) => `${year}-${String(month).padStart(2, '0')}-${String(date).padStart(2, '0')}`);
const time = fc.constantFrom(
  '',
  'T00:00:00Z',
  't23:59:59.123456789+05:30',
  'T24:00:00Z',
  'T12:00:00',
  ' 12:00:00Z',
);
const part = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 6 }),
  fc.tuple(day, time).map((parts) => parts.join('')),
  fc.constantFrom(
    '',
    'true',
    'false',
    'TRUE',
    'active',
    'a.b',
    'axb',
    'x|y',
    '-0',
    '1e3',
    '.5',
    '5.',
    '0x1',
    '\0',
  ),
  fc.constantFrom(
    '9'.repeat(15),
    '1'.repeat(17),
    `-${'1'.repeat(15)}`,
    'x'.repeat(256),
    'x'.repeat(257),
    '😀'.repeat(256),
  ),
  fc.double({ noNaN: true }).map(String),
  fc.integer().map(String),
  fc.bigInt({ min: 9_007_199_254_740_980n, max: 9_007_199_254_741_000n }).map(String),
);
const text = fc.oneof(
  part,
  fc.array(part, { minLength: 2, maxLength: 4 }).map((parts) => parts.join(',')),
  fc.constantFrom(49, 50, 51).map((many) => Array(many).fill('1').join(',')),
);

/** Half of a surrogate pair, which no URL can contain. */
const isUrlText = (value: string) => value.isWellFormed();

for (const field of FIELDS) {
  const name = `${field.type}${field.values === undefined ? '' : ' with values'}`;
  for (const [operator, several] of [
    ['eq', true],
    ['gt', false],
  ] as const) {
    if (
      operator === 'gt' &&
      (field.values !== undefined || field.type === 'boolean' || field.type === 'search')
    )
      continue;
    t.test(`${name}, ${operator}`, async (t) => {
      const pattern = new RegExp(filterPattern(field, several), 'u');
      fc.assert(
        fc.property(text, (value) => {
          fc.pre(isUrlText(value));
          const read = readFilter(field, operator, value);
          // The comma is a character of a single text; the pattern says so only of those that may be several.
          fc.pre(several || field.type !== 'string' || !value.includes(','));
          return pattern.test(value) === Array.isArray(read);
        }),
        { numRuns: repetitions(400) },
      );
      t.pass(`at most ${FILTER_LIMITS.values}`);
    });
  }
}
