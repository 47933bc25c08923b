import type { KeysetPage, Position, Rows } from '@gatehouse/domain/list-query';
import type { Cursor } from './cursor.ts';

/** The number of a page, and the cursors of its neighbours, where there are any. */
export type AdjacentPages = { page: number; next?: Cursor; previous?: Cursor };

/** The part that all cursors of a list have in common. */
type ListState = Pick<Cursor, 'hash' | 'total' | 'profile'>;

/** The page that a cursor asks for; without a cursor, the first one. */
export function keysetPage(limit: number, cursor: Cursor | undefined): KeysetPage {
  if (cursor === undefined) return { limit };
  const { position, direction, inclusive } = cursor;
  return { limit, from: { position, direction, inclusive } };
}

/** The cursors of the pages around these rows, which the cursor `from` asked for. */
export function adjacentPages(
  rows: Rows<unknown>,
  from: Cursor | undefined,
  state: ListState,
): AdjacentPages {
  // The first page, and no other, has the number 1. Writes may make other numbers inexact.
  const page = rows.hasPrevious ? Math.max(2, from?.page ?? 1) : 1;
  const next = rows.hasNext ? startOf('next', rows.last, from) : undefined;
  const previous = rows.hasPrevious ? startOf('previous', rows.first, from) : undefined;
  return {
    page,
    ...(next === undefined ? {} : { next: { ...next, page: page + 1, ...state } }),
    ...(previous === undefined ? {} : { previous: { ...previous, page: page - 1, ...state } }),
  };
}

/** The start of the page that follows a row, and leaves it out. */
export function startBeside(position: Position, direction: Cursor['direction']) {
  return { position, direction, inclusive: false };
}

/**
 * Where an adjacent page starts. If every row of a page was deleted, this is between two rows: in the direction of the cursor that led here
 * the start stays the same, and in the other direction it includes the row that the cursor left out.
 */
function startOf(direction: Cursor['direction'], row: Position | undefined, from: Cursor | undefined) {
  if (row !== undefined) return startBeside(row, direction);
  if (from === undefined) return undefined;
  const { position, inclusive } = from;
  return { position, direction, inclusive: direction === from.direction ? inclusive : !inclusive };
}

/** The total that was counted, corrected if the rows of a cursor page show it to be wrong. */
export function correctedTotal({ items, hasNext, hasPrevious }: Rows<unknown>, counted: number): number {
  if (!hasNext && !hasPrevious) return items.length;
  return Math.max(counted, items.length + Number(hasNext) + Number(hasPrevious));
}

/** The same for a page at an offset. */
export function correctedTotalAtOffset(
  { items, hasNext }: Rows<unknown>,
  counted: number,
  offset: number,
): number {
  if (hasNext) return Math.max(counted, offset + items.length + 1);
  return items.length > 0 ? offset + items.length : Math.min(counted, offset);
}
