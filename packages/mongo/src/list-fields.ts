import { foldedKey } from '@gatehouse/kit/folded-key';
import type { Condition, FilterValue } from '@gatehouse/kit/list-query';
import { compareValues, type Limit, type SortedList } from './keyset.ts';

export type Filter = Record<string, unknown>;

/**
 * A field that lists are filtered and sorted by. Every document that is not deleted has a value of it, stored under
 * the name `stored`. Its index is called as MongoDB would call it, unless `index` is another name.
 */
export type ListField = { stored: string; index?: string } & (
  | { type: 'string' | 'number' | 'date'; unique?: true }
  /** The foldedKey of a text. */
  | { type: 'folded'; unique?: false }
  /**
   * `absent` is how the keys of documents without such a text begin, which keeps them apart from each other. They
   * come first, but are below no value.
   */
  | { type: 'folded'; unique: true; absent?: string }
  /** A field of few values. `usual` is what most documents have. */
  | { type: 'choice'; values: readonly string[]; usual?: string }
  | { type: 'boolean'; usual?: boolean }
);

/** The least value that there is of each type. */
const LEAST: Record<ListField['type'], FilterValue> = {
  string: '',
  folded: '',
  choice: '',
  boolean: false,
  number: Number.NEGATIVE_INFINITY,
  date: new Date(-8_640_000_000_000_000),
};

export function isUnique(field: ListField): boolean {
  return 'unique' in field && field.unique === true;
}

/** All values of a field of few, in their order; undefined for any other field. */
export function choicesOf(field: ListField): readonly FilterValue[] | undefined {
  if (field.type === 'boolean') return [false, true];
  return field.type === 'choice' ? field.values.toSorted() : undefined;
}

/**
 * Meets every document that has the field. A unique text is never empty. Written as a comparison, because the planner
 * sees that an equality implies it; of { $type: 'string' } it does not, and would not read a partial index.
 */
export function isPresent(field: ListField): Filter {
  const least = LEAST[field.type];
  return { [field.stored]: isUnique(field) && least === '' ? { $gt: '' } : { $gte: least } };
}

/**
 * The conditions on a field with their values as they are stored; on a field of few values, a single one that names
 * those that meet all, or none when all do. Undefined when nothing can meet them.
 */
export function normalized(field: ListField, conditions: readonly Condition[]): Condition[] | undefined {
  const all = choicesOf(field);
  if (all === undefined) {
    const keyOf = (value: FilterValue) => (field.type === 'folded' ? foldedKey(String(value)) : value);
    return conditions.map((condition) => ({ ...condition, values: condition.values.map(keyOf) }));
  }
  const values = all.filter((value) => conditions.every((condition) => meets(value, condition)));
  if (values.length === 0) return undefined;
  return values.length === all.length ? [] : [{ field: field.stored, operator: 'in', values }];
}

/**
 * What a normalized condition asks of a document.
 * @param hasTombstones whether there are documents without the field, which are not to be found
 */
export function filtersOf(field: ListField, condition: Condition, hasTombstones: boolean): Filter[] {
  const { operator, values } = condition;
  const { stored } = field;
  const filter = { [stored]: { [`$${operator}`]: operator === 'in' ? values : values[0] } };
  const isBelow = operator === 'lt' || operator === 'lte';
  if ('absent' in field && isBelow) return [{ [stored]: { $gte: `${field.absent}\uffff` } }, filter];
  // A unique index is partial where there are tombstones, which are also other than any value.
  const needsPresence = hasTombstones && stored !== '_id' && (isUnique(field) || operator === 'ne');
  return needsPresence ? [isPresent(field), filter] : [filter];
}

/**
 * Where a list that is sorted by a field that is not unique begins and ends, and whether that is all that the
 * normalized conditions on it say.
 */
export function rangeOf(
  field: ListField,
  conditions: readonly Condition[],
  hasTombstones: boolean,
): { range: NonNullable<SortedList['range']>; isComplete: boolean } {
  // Documents without the field, if there are any to be found, come first.
  const skipsAbsent = hasTombstones || conditions.some(({ operator }) => operator !== 'ne');
  const all = choicesOf(field);
  const least = all?.[0] ?? LEAST[field.type];
  let lower: Limit | undefined = skipsAbsent ? { value: least, inclusive: true } : undefined;
  let upper: Limit | undefined = skipsAbsent && all ? { value: all.at(-1), inclusive: true } : undefined;
  let isComplete = true;
  for (const condition of conditions) {
    const { operator } = condition;
    const values = condition.values.toSorted(compareValues);
    if (operator === 'ne' || hasGaps(field, values)) isComplete = false;
    if (operator === 'gt' || operator === 'gte' || isEquality(condition)) {
      lower = narrower(lower, { value: values[0], inclusive: operator !== 'gt' }, 1);
    }
    if (operator === 'lt' || operator === 'lte' || isEquality(condition)) {
      upper = narrower(upper, { value: values.at(-1), inclusive: operator !== 'lt' }, -1);
    }
  }
  return { range: { lower, upper }, isComplete };
}

export function isEquality({ operator }: Condition): boolean {
  return operator === 'eq' || operator === 'in';
}

/** Whether other values are between these, which are sorted. */
function hasGaps(field: ListField, values: readonly FilterValue[]): boolean {
  const all = choicesOf(field);
  if (all === undefined) return values.length > 1;
  const places = values.map((value) => all.indexOf(value));
  return (places.at(-1) ?? 0) - (places[0] ?? 0) >= values.length;
}

function meets(value: FilterValue, { operator, values }: Condition): boolean {
  const order = compareValues(value, values[0]);
  switch (operator) {
    case 'eq':
      return order === 0;
    case 'ne':
      return order !== 0;
    case 'gt':
      return order > 0;
    case 'gte':
      return order >= 0;
    case 'lt':
      return order < 0;
    case 'lte':
      return order <= 0;
    case 'in':
      return values.includes(value);
  }
}

/** The narrower of two limits; `sign` is 1 for lower ones, of which the greater is, and -1 for upper ones. */
function narrower(a: Limit | undefined, b: Limit, sign: 1 | -1): Limit {
  if (a === undefined) return b;
  const order = sign * compareValues(a.value, b.value);
  return order > 0 || (order === 0 && !a.inclusive) ? a : b;
}
