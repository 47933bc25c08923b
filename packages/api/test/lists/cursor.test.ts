import assert from 'node:assert/strict';
import {
  type Cursor,
  decodeCursor,
  encodeCursor,
  listHash,
  profileInCursor,
} from '@gatehouse/api/lists/cursor';
import type { Condition } from '@gatehouse/domain/list-query';
import { anyCharacter } from '@gatehouse/testing/any-character';
import { repetitions } from '@gatehouse/testing/repetitions';
import fc from 'fast-check';
import t from 'tap';

const CURSOR: Cursor = {
  position: { value: 'ann', id: 'usr_1' },
  direction: 'next',
  inclusive: false,
  page: 2,
  hash: 'h',
  total: 41,
};

/** Any cursor that a list can make. */
const cursors = fc.record<Cursor, 'position' | 'direction' | 'inclusive' | 'page' | 'hash'>(
  {
    position: fc.record(
      {
        value: fc.oneof(
          fc.constant(null),
          fc.boolean(),
          fc.string({ unit: anyCharacter }),
          fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
        ),
        id: fc.string({ minLength: 1, maxLength: 50, unit: anyCharacter }),
      },
      { noNullPrototype: true },
    ),
    direction: fc.constantFrom('next' as const, 'previous' as const),
    inclusive: fc.boolean(),
    page: fc.integer({ min: 1, max: 1_000_000_000 }),
    hash: fc.string(),
    total: fc.maxSafeNat(),
    profile: fc.string({ maxLength: 32 }),
  },
  { requiredKeys: ['position', 'direction', 'inclusive', 'page', 'hash'], noNullPrototype: true },
);

const textOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

t.test('a cursor is read as it was written, and needs no escaping in a URL', async () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      const text = encodeCursor(cursor);
      assert.match(text, /^[\w-]+$/);
      assert.deepStrictEqual(decodeCursor(text), cursor);
    }),
  );
});

t.test('a cursor says whose it is', async (t) => {
  t.equal(profileInCursor(encodeCursor({ ...CURSOR, profile: 'B1' })), 'B1');
  for (const none of [encodeCursor(CURSOR), '', 'x', undefined, ['x'], 1])
    t.equal(profileInCursor(none), undefined);
});

t.test('the longest sort key there is fits', async (t) => {
  // Folds to 33 bytes of UTF-8.
  const value = '\ufdfa'.repeat(252).normalize('NFKC');
  const cursor = { ...CURSOR, position: { value, id: 'usr_1' } };
  t.strictSame(decodeCursor(encodeCursor(cursor)), cursor);
});

t.test('any other text is an invalid cursor, without a fault', async (t) => {
  const good = encodeCursor(CURSOR);
  t.strictSame(decodeCursor(good), CURSOR);
  const [value, id, mode, page, hash, total] = ['ann', 'usr_1', 0, 2, 'h', 41];
  t.equal(textOf([value, id, mode, page, hash, total]), good);
  const bad: Record<string, string> = {
    empty: '',
    'not base64url': '!!!',
    'other base64': Buffer.from('["ÿþ>?"]').toString('base64'),
    padding: `${good}=`,
    'white space': `${good}\n`,
    'not JSON': Buffer.from('[1,').toString('base64url'),
    'bits that say nothing': `${good.slice(0, -1)}${String.fromCharCode(good.charCodeAt(good.length - 1) + 1)}`,
    'JSON written another way': Buffer.from(' ["ann","usr_1",0,2,"h",41]').toString('base64url'),
    'bytes that are no UTF-8': Buffer.from('["\xff","usr_1",0,2,"h",41]', 'latin1').toString('base64url'),
    'a lone object': textOf({ value, id }),
    null: textOf(null),
    'too few': textOf([value, id, mode, page]),
    'too many': textOf([value, id, mode, page, hash, total, 'A', 1]),
    'a value that is a list': textOf([[], id, mode, page, hash, total]),
    'a value that is an object': textOf([{ $gt: '' }, id, mode, page, hash, total]),
    'an id that is a number': textOf([value, 1, mode, page, hash, total]),
    'an empty id': textOf([value, '', mode, page, hash, total]),
    'an id without end': textOf([value, 'x'.repeat(257), mode, page, hash, total]),
    'no such direction': textOf([value, id, 4, page, hash, total]),
    'a name for a direction': textOf([value, id, 'length', page, hash, total]),
    'page 0': textOf([value, id, mode, 0, hash, total]),
    'half a page': textOf([value, id, mode, 1.5, hash, total]),
    'a page beyond counting': textOf([value, id, mode, 1_000_000_001, hash, total]),
    'a hash that is a number': textOf([value, id, mode, page, 1, total]),
    'a total below zero': textOf([value, id, mode, page, hash, -1]),
    'no total': textOf([value, id, mode, page, hash]),
    'a profile that is a number': textOf([value, id, mode, page, hash, total, 1]),
    'a profile without end': textOf([value, id, mode, page, hash, total, 'x'.repeat(33)]),
    'a profile of null': textOf([value, id, mode, page, hash, total, null]),
    'a total beyond counting': textOf([value, id, mode, page, hash, 2 ** 60]),
    'too long': encodeCursor({ ...CURSOR, position: { value: 'x'.repeat(12_000), id: 'usr_1' } }),
  };
  for (const [label, text] of Object.entries(bad)) t.equal(decodeCursor(text), undefined, label);

  const anything = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 200 }),
    fc.base64String(),
    fc.json().map((json) => Buffer.from(json).toString('base64url')),
    fc.array(fc.jsonValue(), { minLength: 4, maxLength: 8 }).map(textOf),
  );
  fc.assert(
    fc.property(anything, (text) => {
      const cursor = decodeCursor(text);
      if (cursor !== undefined) assert.equal(encodeCursor(cursor), text);
    }),
    { numRuns: repetitions(500) },
  );
});

t.test('the hash tells lists apart, and not how they are written down', async (t) => {
  const a: Condition = { field: 'a', operator: 'in', values: ['x', 'y'] };
  const b: Condition = { field: 'b', operator: 'gt', values: [new Date(5)] };
  const sort = { field: 'a', descending: false };
  const hash = listHash({ conditions: [a, b], sort });
  t.match(hash, /^[\w-]{16}$/);
  t.equal(listHash({ conditions: [b, { ...a, values: ['y', 'x'] }], sort }), hash);
  const others = [
    { conditions: [a], sort },
    { conditions: [a, b, b], sort },
    { conditions: [a, { ...b, operator: 'gte' as const }], sort },
    { conditions: [a, { ...b, field: 'c' }], sort },
    { conditions: [a, { ...b, values: [new Date(6)] }], sort },
    { conditions: [{ ...a, values: ['x'] }, b], sort },
    { conditions: [{ ...a, values: ['x,y'] }, b], sort },
    { conditions: [a, b], sort: { field: 'b', descending: false } },
    { conditions: [a, b], sort: { field: 'a', descending: true } },
  ].map(listHash);
  t.equal(new Set([hash, ...others]).size, others.length + 1);
  const one = { conditions: [{ ...a, operator: 'eq' as const, values: ['1'] }], sort };
  const number = { conditions: [{ ...a, operator: 'eq' as const, values: [1] }], sort };
  t.not(listHash(one), listHash(number));
});
