import type {
  Condition,
  FilterValue,
  ListQuery,
  ListSource,
  Position,
  Rows,
} from '@gatehouse/domain/list-query';

export type Row = { id: string; n: number | null; at: Date };
export type RowField = keyof Row;

/** A list in memory that does what a ListSource says in the plainest way. Rows may change between calls. */
export function createArraySource(rows: readonly Row[]) {
  let current = [...rows];
  const counted: (readonly Condition<RowField>[])[] = [];

  function sorted({ conditions, sort }: ListQuery<RowField>): Row[] {
    const found = current.filter((row) => conditions.every((condition) => holds(condition, row)));
    return found.sort((a, b) => order(positionOf(a, sort), positionOf(b, sort), sort));
  }

  function page(all: Row[], start: number, end: number, sort: ListQuery<RowField>['sort']): Rows<Row> {
    const items = all.slice(Math.max(start, 0), end);
    const [first, last] = [items[0], items.at(-1)];
    return {
      items,
      ...(first === undefined ? {} : { first: positionOf(first, sort) }),
      ...(last === undefined ? {} : { last: positionOf(last, sort) }),
      hasNext: end < all.length,
      hasPrevious: Math.min(start, all.length) > 0,
    };
  }

  const source: ListSource<RowField, Row> = {
    async byOffset(query, { limit, offset }) {
      return page(sorted(query), offset, offset + limit, query.sort);
    },
    async byKeyset(query, { limit, from }) {
      const all = sorted(query);
      if (from === undefined) return page(all, 0, limit, query.sort);
      const { position, direction, inclusive } = from;
      // How many rows lie before the cut that the cursor makes.
      const after = (direction === 'next') !== inclusive;
      const cut = all.filter((row) => {
        const difference = order(positionOf(row, query.sort), position, query.sort);
        return difference < 0 || (difference === 0 && after);
      }).length;
      return direction === 'next'
        ? page(all, cut, cut + limit, query.sort)
        : page(all, cut - limit, cut, query.sort);
    },
    async count(conditions) {
      counted.push(conditions);
      return sorted({ conditions, sort: { field: 'id', descending: false } }).length;
    },
  };
  return {
    source,
    counted,
    sorted,
    insert(row: Row) {
      current = [...current.filter(({ id }) => id !== row.id), row];
    },
    remove(id: string) {
      current = current.filter((row) => row.id !== id);
    },
    get rows(): readonly Row[] {
      return current;
    },
  };
}

function positionOf({ id, n, at }: Row, { field }: ListQuery<RowField>['sort']): Position {
  return { id, value: field === 'n' ? n : field === 'at' ? at.getTime() : null };
}

/** The order of the list; null comes first, and the way down is the way up turned round. */
function order(a: Position, b: Position, { descending }: ListQuery<RowField>['sort']): number {
  const number = ({ value }: Position) => (value === null ? Number.NEGATIVE_INFINITY : Number(value));
  const [x, y] = [number(a), number(b)];
  const up = x !== y ? (x < y ? -1 : 1) : a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
  return descending ? -up : up;
}

function holds({ field, operator, values }: Condition<RowField>, row: Row): boolean {
  const plain = (value: FilterValue | null) => (value instanceof Date ? value.getTime() : value);
  const mine = plain(row[field]);
  const theirs = values.map(plain);
  const [one = null] = theirs;
  switch (operator) {
    case 'eq':
    case 'in':
      return theirs.includes(mine);
    case 'ne':
      return mine !== one;
    default: {
      if (mine === null || one === null) return false;
      const compared = { gt: mine > one, gte: mine >= one, lt: mine < one, lte: mine <= one };
      return compared[operator];
    }
  }
}
