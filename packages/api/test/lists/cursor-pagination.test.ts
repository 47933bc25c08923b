import type { Cursor } from '@gatehouse/api/lists/cursor';
import {
  adjacentPages,
  correctedTotal,
  correctedTotalAtOffset,
  keysetPage,
  startBeside,
} from '@gatehouse/api/lists/cursor-pagination';
import type { Rows } from '@gatehouse/domain/list-query';
import t from 'tap';

const position = { value: 'ann', id: 'usr_1' };
const state = { hash: 'h', total: 9 };
const came = (more: Partial<Cursor> = {}): Cursor => ({
  ...startBeside(position, 'next'),
  page: 3,
  hash: 'h',
  ...more,
});
const page = (count: number, hasPrevious: boolean, hasNext: boolean): Rows<number> => ({
  items: Array(count).fill(0),
  ...(count === 0 ? {} : { first: { value: 'f', id: 'first' }, last: { value: 'l', id: 'last' } }),
  hasNext,
  hasPrevious,
});

t.test('the query that a cursor sends to the source', async (t) => {
  t.strictSame(keysetPage(7, undefined), { limit: 7 });
  t.strictSame(keysetPage(7, came({ inclusive: true, total: 4 })), {
    limit: 7,
    from: { position, direction: 'next', inclusive: true },
  });
});

t.test('a page with rows goes on from its ends', async (t) => {
  t.strictSame(adjacentPages(page(2, true, true), came(), state), {
    page: 3,
    next: { ...startBeside({ value: 'l', id: 'last' }, 'next'), page: 4, ...state },
    previous: { ...startBeside({ value: 'f', id: 'first' }, 'previous'), page: 2, ...state },
  });
  t.strictSame(adjacentPages(page(2, false, false), undefined, state), { page: 1 });
});

t.test('a page without rows lies where its cursor points', async (t) => {
  t.strictSame(adjacentPages(page(0, false, false), undefined, state), { page: 1 });
  for (const direction of ['next', 'previous'] as const) {
    for (const inclusive of [true, false]) {
      // Both sides: of two queries one may see what the other does not yet.
      const { next, previous } = adjacentPages(page(0, true, true), came({ direction, inclusive }), state);
      const [on, back] = direction === 'next' ? [next, previous] : [previous, next];
      t.match(on, { position, direction, inclusive }, `on: ${direction}, ${inclusive}`);
      const turned = direction === 'next' ? 'previous' : 'next';
      t.match(
        back,
        { position, direction: turned, inclusive: !inclusive },
        `back: ${direction}, ${inclusive}`,
      );
    }
  }
});

t.test('the number is 1 on a first page and nowhere else', async (t) => {
  const numbers: [hasPrevious: boolean, from: number | undefined, expected: number][] = [
    [false, undefined, 1],
    [false, 7, 1],
    [true, 7, 7],
    [true, 1, 2],
    [true, undefined, 2],
  ];
  for (const [hasPrevious, from, expected] of numbers) {
    const cursor = from === undefined ? undefined : came({ page: from });
    const found = adjacentPages(page(1, hasPrevious, true), cursor, state);
    t.strictSame([found.page, found.next?.page], [expected, expected + 1], `${hasPrevious} ${from}`);
    t.equal(found.previous?.page, hasPrevious ? expected - 1 : undefined);
  }
});

t.test('totals', async (t) => {
  t.equal(correctedTotal(page(3, false, false), 50), 3);
  t.equal(correctedTotal(page(3, true, true), 50), 50);
  t.equal(correctedTotal(page(3, true, true), 2), 5);
  t.equal(correctedTotal(page(3, false, true), 2), 4);
  t.equal(correctedTotal(page(0, true, false), 0), 1);
  t.equal(correctedTotalAtOffset(page(3, true, true), 50, 20), 50);
  t.equal(correctedTotalAtOffset(page(3, true, true), 5, 20), 24);
  t.equal(correctedTotalAtOffset(page(3, true, false), 50, 20), 23);
  t.equal(correctedTotalAtOffset(page(0, true, false), 50, 20), 20);
  t.equal(correctedTotalAtOffset(page(0, true, false), 7, 20), 7);
});
