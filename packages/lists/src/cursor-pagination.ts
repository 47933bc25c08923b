import type { KeysetPage, Position, Rows } from '@gatehouse/kit/list-query';
import type { Cursor } from './cursor.ts';

/** What a cursor page knows of its surroundings. */
export type Neighbours = { page: number; next?: Cursor; previous?: Cursor };

/** What the cursors of one walk have in common. */
type Walk = { hash: string; total?: number; dialect?: string };

/** The page that a cursor asks for; the first one without a cursor. */
export function keysetPage(limit: number, cursor: Cursor | undefined): KeysetPage {
  if (cursor === undefined) return { limit };
  const { position, direction, inclusive } = cursor;
  return { limit, from: { position, direction, inclusive } };
}

/** The cursors of the pages around these rows, which came by the cursor `from`. */
export function neighbours(rows: Rows<unknown>, from: Cursor | undefined, walk: Walk): Neighbours {
  // The number is right as long as nobody writes; that a first page is number 1, and no other is, always.
  const page = rows.hasPrevious ? Math.max(2, from?.page ?? 1) : 1;
  const next = rows.hasNext ? edge('next', rows.last, from) : undefined;
  const previous = rows.hasPrevious ? edge('previous', rows.first, from) : undefined;
  return {
    page,
    ...(next === undefined ? {} : { next: { ...next, page: page + 1, ...walk } }),
    ...(previous === undefined ? {} : { previous: { ...previous, page: page - 1, ...walk } }),
  };
}

/** A page that goes on from a row of this one, which it therefore leaves out. */
export function beside(position: Position, direction: Cursor['direction']) {
  return { position, direction, inclusive: false };
}

/**
 * Where a neighbour begins. When everything on a page was deleted it lies between two rows: the way on is the way
 * that led here, and the way back takes the row along that the way here left out.
 */
function edge(direction: Cursor['direction'], row: Position | undefined, from: Cursor | undefined) {
  if (row !== undefined) return beside(row, direction);
  if (from === undefined) return undefined;
  const { position, inclusive } = from;
  return { position, direction, inclusive: direction === from.direction ? inclusive : !inclusive };
}

/** The total that was counted, corrected where the rows of a cursor page show that it cannot be. */
export function totalBeside({ items, hasNext, hasPrevious }: Rows<unknown>, counted: number): number {
  if (!hasNext && !hasPrevious) return items.length;
  return Math.max(counted, items.length + Number(hasNext) + Number(hasPrevious));
}

/** The same for a page by offset. */
export function totalAfter({ items, hasNext }: Rows<unknown>, counted: number, offset: number): number {
  if (hasNext) return Math.max(counted, offset + items.length + 1);
  return items.length > 0 ? offset + items.length : Math.min(counted, offset);
}
