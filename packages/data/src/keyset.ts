import { ServiceError } from '@gatehouse/core/errors';
import type { KeysetPage, OffsetPage, Position, Rows } from '@gatehouse/domain/list-query';
import mongoose from 'mongoose';
import type { DocumentCollection, StoredDocument } from './collection.ts';
import { MAX_QUERY_MS } from './database.ts';

type Fields = Record<string, unknown>;

/** The sort field of a list. Documents with equal values are sorted by their ids, in the same direction. */
type Sort = {
  field: string;
  type: 'string' | 'number' | 'date' | 'boolean';
  /** Whether no two documents of the list have the same value, as with `_id`. */
  unique: boolean;
  descending: boolean;
};

/** A limit of a range of the sort field, as stored. */
export type RangeLimit = { value: unknown; inclusive: boolean };

/** A sorted list of documents with string ids, and the index that is read in its order. */
export type SortedList = {
  collection: DocumentCollection;
  /** Must include the fields of the rows and the sort field; `_id` is always included. */
  projection: Fields;
  sort: Sort;
  /** The name of an ascending index on the fields of the prefix, the sort field and, unless that is unique, `_id`. */
  index: string;
  /** Conditions on the index prefix: equality or, if the sort field is unique, also $in. */
  prefix?: Fields;
  /** The range of the sort field. Documents without the field have null, which sorts first. */
  range?: { lower?: RangeLimit | undefined; upper?: RangeLimit | undefined };
  /** Further conditions, checked on each document that the index yields: few documents should fail them. */
  filter?: Fields;
};

const MIN_KEY = new mongoose.mongo.MinKey();
const MAX_KEY = new mongoose.mongo.MaxKey();

/**
 * A bound between the keys of the index: before the key with this value and id. If the sort field is unique, the id is
 * MIN_KEY (before the value) or MAX_KEY (after it).
 */
type Bound = { value: unknown; id: unknown };
/** The keys between two bounds. */
type KeyRange = { low: Bound; high: Bound };

/** A page by offset. */
export async function offsetPage<D extends StoredDocument>(
  list: SortedList,
  page: OffsetPage,
): Promise<Rows<D>> {
  const { limit, offset } = page;
  const keyRange = fullRange(list);
  const isForward = !list.sort.descending;
  const found = await find<D>(list, keyRange, { isForward, limit: limit + 1, skip: offset });
  const hasPrevious = offset > 0 && (found.length > 0 || (await exists(list, keyRange)));
  return rowsOf(list, found.slice(0, limit), { hasNext: found.length > limit, hasPrevious });
}

/**
 * A page before or after a position. The cost does not depend on the position, even among many documents with equal
 * values: it reads the keys of the page, and at most one on the other side of the position.
 * @throws ServiceError `invalid` when the position does not fit the sort
 */
export async function keysetPage<D extends StoredDocument>(
  list: SortedList,
  page: KeysetPage,
): Promise<Rows<D>> {
  const { limit, from } = page;
  const { descending } = list.sort;
  const { low, high } = fullRange(list);
  if (from === undefined) {
    const found = await find<D>(list, { low, high }, { isForward: !descending, limit: limit + 1 });
    return rowsOf(list, found.slice(0, limit), { hasNext: found.length > limit, hasPrevious: false });
  }
  const isForward = (from.direction === 'next') !== descending;
  const bound = boundOf(list.sort, from);
  const above = (it: Bound) => ({ low: compare(it, low) > 0 ? it : low, high });
  const below = (it: Bound) => ({ low, high: compare(it, high) < 0 ? it : high });
  // The document at the position is read as well: most often it still exists, and shows that the other side has one.
  const inclusive = boundOf(list.sort, { ...from, inclusive: true });
  const range = isForward ? above(inclusive) : below(inclusive);
  const found = await find<D>(list, range, { isForward, limit: limit + 2 });
  const onThisSide = found.filter((it) => compare(boundAt(list.sort, it), bound) < 0 !== isForward);
  const hasOpposite =
    onThisSide.length < found.length || (await exists(list, isForward ? below(bound) : above(bound)));
  const documents = onThisSide.slice(0, limit);
  const hasMore = onThisSide.length > limit;
  return from.direction === 'next'
    ? rowsOf(list, documents, { hasNext: hasMore, hasPrevious: hasOpposite })
    : rowsOf(list, documents.reverse(), { hasNext: hasOpposite, hasPrevious: hasMore });
}

/**
 * The documents of a list that are among the first `most` of its index, whether they meet its filter or not, and among the first
 * `limit` that do; and whether there may be more of the list.
 */
export async function boundedScan(
  list: SortedList,
  { most, limit }: { most: number; limit: number },
): Promise<{ documents: StoredDocument[]; isIncomplete: boolean }> {
  const { sort } = list;
  const isForward = !sort.descending;
  const range = fullRange(list);
  const keys = { ...list, filter: {}, projection: { [sort.field]: 1 } };
  const [end] = await find(keys, range, { isForward, limit: 1, skip: most });
  const position = end && positionOf(sort, end);
  const bound = position && boundOf(sort, { position, direction: 'previous', inclusive: false });
  const bounded = bound === undefined ? {} : isForward ? { high: bound } : { low: bound };
  const found = await find(list, { ...range, ...bounded }, { isForward, limit: limit + 1 });
  return {
    documents: found.slice(0, limit),
    isIncomplete: bound !== undefined || found.length > limit,
  };
}

/**
 * A page of the given documents, which are sorted here: for a list so short that all of it is read.
 * @throws ServiceError `invalid` when the position does not fit the sort
 */
export function pageInMemory<D extends StoredDocument>(
  { sort }: { sort: Sort },
  documents: readonly D[],
  page: OffsetPage | KeysetPage,
): Rows<D> {
  const ascending = documents.toSorted((a, b) => compare(boundAt(sort, a), boundAt(sort, b)));
  const sorted = sort.descending ? ascending.reverse() : ascending;
  let begin = 'offset' in page ? page.offset : 0;
  let end = begin + page.limit;
  if ('from' in page && page.from !== undefined) {
    const bound = boundOf(sort, page.from);
    // The number of documents before the bound.
    const isBefore = (document: D) => compare(boundAt(sort, document), bound) < 0 !== sort.descending;
    const index = sorted.filter(isBefore).length;
    begin = page.from.direction === 'next' ? index : Math.max(index - page.limit, 0);
    end = page.from.direction === 'next' ? index + page.limit : index;
  }
  return rowsOf({ sort }, sorted.slice(begin, end), {
    hasNext: end < sorted.length,
    hasPrevious: begin > 0 && sorted.length > 0,
  });
}

function fullRange({ range: { lower, upper } = {} }: SortedList): KeyRange {
  return {
    low:
      lower === undefined
        ? { value: MIN_KEY, id: MIN_KEY }
        : { ...lower, id: lower.inclusive ? MIN_KEY : MAX_KEY },
    high:
      upper === undefined
        ? { value: MAX_KEY, id: MAX_KEY }
        : { ...upper, id: upper.inclusive ? MAX_KEY : MIN_KEY },
  };
}

/** The bound at a position. The document at the position is on the page's side if the position is inclusive. */
function boundOf(sort: Sort, { position, direction, inclusive }: NonNullable<KeysetPage['from']>): Bound {
  const isForward = (direction === 'next') !== sort.descending;
  const isAfter = isForward !== inclusive;
  const value = storedValue(sort, position);
  if (sort.unique) return { value, id: isAfter ? MAX_KEY : MIN_KEY };
  // The string that follows an id directly is the id and a NUL.
  return { value, id: isAfter ? `${position.id}\0` : position.id };
}

function find<D extends StoredDocument>(
  { collection, projection, sort, index, prefix = {}, filter = {} }: SortedList,
  { low, high }: KeyRange,
  { isForward, limit, skip = 0 }: { isForward: boolean; limit: number; skip?: number },
): Promise<D[]> {
  if (compare(low, high) >= 0) return Promise.resolve([]);
  const direction = isForward ? 1 : -1;
  const { field } = sort;
  const found = sort.unique
    ? collection
        .find(allOf([prefix, ...rangeConditions(field, { low, high }), filter]))
        .sort({ [field]: direction })
    : // min() and max(), not $or: for "equal value and greater id, or greater value" the planner may read and filter
      // all documents with the equal value.
      collection
        .find(filter)
        .min({ ...prefix, [field]: low.value, _id: low.id })
        .max({ ...prefix, [field]: high.value, _id: high.id })
        .sort(Object.fromEntries([...Object.keys(prefix), field, '_id'].map((name) => [name, direction])));
  return found.hint(index).project<D>(projection).skip(skip).limit(limit).maxTimeMS(MAX_QUERY_MS).toArray();
}

async function exists(list: SortedList, keyRange: KeyRange): Promise<boolean> {
  const found = await find({ ...list, projection: { _id: 1 } }, keyRange, {
    isForward: !list.sort.descending,
    limit: 1,
  });
  return found.length > 0;
}

/** A range of a unique field as conditions. */
function rangeConditions(field: string, { low, high }: KeyRange): Fields[] {
  return [
    ...(low.value === MIN_KEY ? [] : [{ [field]: { [low.id === MAX_KEY ? '$gt' : '$gte']: low.value } }]),
    ...(high.value === MAX_KEY ? [] : [{ [field]: { [high.id === MAX_KEY ? '$lte' : '$lt']: high.value } }]),
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

/** A position's value as stored. It comes from the client, so it is checked before it reaches the database. */
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

function boundAt({ field }: Sort, document: StoredDocument): Bound {
  return { value: document[field] ?? null, id: document._id };
}

/** Compares as the database does: by value, then by id. */
function compare(a: Bound, b: Bound): number {
  return compareValues(a.value, b.value) || compareValues(a.id, b.id);
}

/** Compares as the database does. */
export function compareValues(a: unknown, b: unknown): number {
  const byType = typeOrder(a) - typeOrder(b);
  if (byType !== 0) return byType;
  // Strings are compared by their UTF-8 bytes.
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a === null || a === MIN_KEY || a === MAX_KEY ? 0 : Number(a) - Number(b);
}

/** The sort order of the BSON types that lists have. */
function typeOrder(value: unknown): number {
  if (value === MIN_KEY) return 0;
  if (value === MAX_KEY) return 3;
  return value === null ? 1 : 2;
}
