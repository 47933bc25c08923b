import { ServiceError } from '@gatehouse/kit/errors';
import type { KeysetPage, OffsetPage, Position, Rows } from '@gatehouse/kit/list-query';
import mongoose from 'mongoose';
import type { DocumentCollection, StoredDocument } from './collection.ts';
import { MAX_QUERY_MS } from './database.ts';

type Fields = Record<string, unknown>;

/** By what a list is sorted; documents that are equal by it come in the order of their ids, descending as the list. */
export type Sort = {
  field: string;
  type: 'string' | 'number' | 'date' | 'boolean';
  /** No two documents of the list share a value, as with `_id`. */
  unique: boolean;
  descending: boolean;
};

/** One end of a range of the sort field, as stored. */
export type Limit = { value: unknown; inclusive: boolean };

/** A sorted list of documents whose ids are strings, and the index that is read in its order. */
export type SortedList = {
  collection: DocumentCollection;
  /** Brings what the rows need and the sort field; `_id` comes by itself. */
  projection: Fields;
  sort: Sort;
  /**
   * The name of an index over the fields of the prefix, the sort field and, unless that is unique, `_id`; all
   * ascending.
   */
  index: string;
  /** Conditions on the fields that the index begins with: equalities or, when the sort field is unique, sets. */
  prefix?: Fields;
  /** Where the list begins and ends by its sort field. Documents without that have null, the least of all. */
  range?: { lower?: Limit | undefined; upper?: Limit | undefined };
  /** What else must hold. It is checked on each document that the index yields, so that few should fail it. */
  filter?: Fields;
};

const FIRST = new mongoose.mongo.MinKey();
const LAST = new mongoose.mongo.MaxKey();

/**
 * A place between the documents of the index, in front of the document that has this value and this id if there is
 * one. Where the sort field is unique the id is FIRST, in front of the value, or LAST, behind it.
 */
type Cut = { value: unknown; id: unknown };
/** The documents between two cuts. */
type Span = { low: Cut; high: Cut };

/** A page of the list by offset. */
export async function offsetPage<D extends StoredDocument>(
  list: SortedList,
  page: OffsetPage,
): Promise<Rows<D>> {
  const { limit, offset } = page;
  const span = wholeOf(list);
  const up = !list.sort.descending;
  const found = await find<D>(list, span, { up, limit: limit + 1, skip: offset });
  const hasPrevious = offset > 0 && (found.length > 0 || (await exists(list, span)));
  return rowsOf(list, found.slice(0, limit), { hasNext: found.length > limit, hasPrevious });
}

/**
 * A page of the list beside a position. It costs the same wherever that is, also among many documents that are
 * equal by the sort field: the page's own keys are read, and at most one on the other side of the position.
 * @throws ServiceError `invalid` when the position is not one of such a list
 */
export async function keysetPage<D extends StoredDocument>(
  list: SortedList,
  page: KeysetPage,
): Promise<Rows<D>> {
  const { limit, from } = page;
  const { descending } = list.sort;
  const { low, high } = wholeOf(list);
  if (from === undefined) {
    const found = await find<D>(list, { low, high }, { up: !descending, limit: limit + 1 });
    return rowsOf(list, found.slice(0, limit), { hasNext: found.length > limit, hasPrevious: false });
  }
  const up = (from.direction === 'next') !== descending;
  const cut = cutOf(list.sort, from);
  const above = (it: Cut) => ({ low: compare(it, low) > 0 ? it : low, high });
  const below = (it: Cut) => ({ low, high: compare(it, high) < 0 ? it : high });
  // With the document at the position, which most often is still there: then it shows that there is one behind.
  const inclusive = cutOf(list.sort, { ...from, inclusive: true });
  const found = await find<D>(list, up ? above(inclusive) : below(inclusive), { up, limit: limit + 2 });
  const ahead = found.filter((document) => compare(keyOf(list.sort, document), cut) < 0 !== up);
  const isBehind = ahead.length < found.length || (await exists(list, up ? below(cut) : above(cut)));
  const documents = ahead.slice(0, limit);
  const isAhead = ahead.length > limit;
  return from.direction === 'next'
    ? rowsOf(list, documents, { hasNext: isAhead, hasPrevious: isBehind })
    : rowsOf(list, documents.reverse(), { hasNext: isBehind, hasPrevious: isAhead });
}

/**
 * A page of the documents given, for a list of which so few can be that all are read: those of some ids.
 * @throws ServiceError `invalid` when the position is not one of such a list
 */
export function pageOfFew<D extends StoredDocument>(
  { sort }: { sort: Sort },
  documents: readonly D[],
  page: OffsetPage | KeysetPage,
): Rows<D> {
  const ascending = documents.toSorted((a, b) => compare(keyOf(sort, a), keyOf(sort, b)));
  const sorted = sort.descending ? ascending.reverse() : ascending;
  let begin = 'offset' in page ? page.offset : 0;
  let end = begin + page.limit;
  if ('from' in page && page.from !== undefined) {
    const cut = cutOf(sort, page.from);
    // Where the cut is in the list, as a number of documents.
    const isInFront = (document: D) => compare(keyOf(sort, document), cut) < 0 !== sort.descending;
    const place = sorted.filter(isInFront).length;
    begin = page.from.direction === 'next' ? place : Math.max(place - page.limit, 0);
    end = page.from.direction === 'next' ? place + page.limit : place;
  }
  return rowsOf({ sort }, sorted.slice(begin, end), {
    hasNext: end < sorted.length,
    hasPrevious: begin > 0 && sorted.length > 0,
  });
}

function wholeOf({ range: { lower, upper } = {} }: SortedList): Span {
  return {
    low: lower === undefined ? { value: FIRST, id: FIRST } : { ...lower, id: lower.inclusive ? FIRST : LAST },
    high: upper === undefined ? { value: LAST, id: LAST } : { ...upper, id: upper.inclusive ? LAST : FIRST },
  };
}

/** The cut at a position; the document at it is on the page's side when that is inclusive. */
function cutOf(sort: Sort, { position, direction, inclusive }: NonNullable<KeysetPage['from']>): Cut {
  const up = (direction === 'next') !== sort.descending;
  const isBehind = up !== inclusive;
  const value = storedValue(sort, position);
  if (sort.unique) return { value, id: isBehind ? LAST : FIRST };
  // No text is between an id and the one with a NUL more.
  return { value, id: isBehind ? `${position.id}\0` : position.id };
}

function find<D extends StoredDocument>(
  { collection, projection, sort, index, prefix = {}, filter = {} }: SortedList,
  { low, high }: Span,
  { up, limit, skip = 0 }: { up: boolean; limit: number; skip?: number },
): Promise<D[]> {
  if (compare(low, high) >= 0) return Promise.resolve([]);
  const direction = up ? 1 : -1;
  const { field } = sort;
  const found = sort.unique
    ? collection.find(allOf([prefix, ...bounds(field, { low, high }), filter])).sort({ [field]: direction })
    : // Not as conditions: of "this value and a greater id, or a greater value" the planner may check one half on
      // each document, and would read all that are equal.
      collection
        .find(filter)
        .min({ ...prefix, [field]: low.value, _id: low.id })
        .max({ ...prefix, [field]: high.value, _id: high.id })
        .sort(Object.fromEntries([...Object.keys(prefix), field, '_id'].map((name) => [name, direction])));
  return found.hint(index).project<D>(projection).skip(skip).limit(limit).maxTimeMS(MAX_QUERY_MS).toArray();
}

async function exists(list: SortedList, span: Span): Promise<boolean> {
  const found = await find({ ...list, projection: { _id: 1 } }, span, {
    up: !list.sort.descending,
    limit: 1,
  });
  return found.length > 0;
}

/** A unique field's span as conditions. */
function bounds(field: string, { low, high }: Span): Fields[] {
  return [
    ...(low.value === FIRST ? [] : [{ [field]: { [low.id === LAST ? '$gt' : '$gte']: low.value } }]),
    ...(high.value === LAST ? [] : [{ [field]: { [high.id === LAST ? '$lte' : '$lt']: high.value } }]),
  ];
}

function allOf(conditions: Fields[]): Fields {
  const all = conditions.filter((condition) => Object.keys(condition).length > 0);
  return all.length > 1 ? { $and: all } : (all[0] ?? {});
}

function rowsOf<D extends StoredDocument>(
  { sort }: { sort: Sort },
  items: D[],
  sides: { hasNext: boolean; hasPrevious: boolean },
): Rows<D> {
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return { items, ...sides };
  return { items, first: positionOf(sort, first), last: positionOf(sort, last), ...sides };
}

function positionOf({ field }: Sort, document: StoredDocument): Position {
  const value = field === '_id' ? null : (document[field] ?? null);
  return {
    value: value instanceof Date ? value.getTime() : (value as Position['value']),
    id: document._id,
  };
}

/** A position's value as stored. The caller may send anything, which must not reach the database. */
function storedValue({ field, type, unique }: Sort, { value, id }: Position): unknown {
  if (field === '_id' && value === null) return id;
  if (value === null && !unique) return null;
  if (field !== '_id' && type === 'date' && typeof value === 'number') {
    const date = new Date(value);
    if (!Number.isNaN(date.getTime())) return date;
  } else if (field !== '_id' && typeof value === type) {
    return value;
  }
  throw new ServiceError('invalid', 'The cursor is not one of this list.', {
    details: [{ field: 'cursor', message: 'is not one of this list' }],
  });
}

function keyOf({ field }: Sort, document: StoredDocument): Cut {
  return { value: document[field] ?? null, id: document._id };
}

/** As the database compares keys: by value and then by id. */
function compare(a: Cut, b: Cut): number {
  return compareValues(a.value, b.value) || compareValues(a.id, b.id);
}

/** As the database compares values. */
export function compareValues(a: unknown, b: unknown): number {
  const byKind = kindOf(a) - kindOf(b);
  if (byKind !== 0) return byKind;
  // Texts by their bytes in UTF-8.
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a === null || a === FIRST || a === LAST ? 0 : Number(a) - Number(b);
}

/** Values of one kind are compared with each other. */
function kindOf(value: unknown): number {
  if (value === FIRST) return 0;
  if (value === LAST) return 3;
  return value === null ? 1 : 2;
}
