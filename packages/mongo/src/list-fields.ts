import { foldedKey } from '@gatehouse/kit/folded-key';
import type { Condition, FilterValue } from '@gatehouse/kit/list-query';
import { compareValues, type Limit, type Sort } from './keyset.ts';

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
   * come first, and no comparison meets them.
   */
  | { type: 'folded'; unique: true; absent?: string }
  /** A field of few values. `usual` is what most documents have. */
  | { type: 'choice'; values: readonly string[]; usual?: string }
  | { type: 'boolean'; usual?: boolean }
);

/** Where a list that is sorted by a field begins and ends, and whether that is all that the conditions on it say. */
export type FieldRange = { range: { lower?: Limit; upper?: Limit }; isComplete: boolean };

/** The least value that there is of each type. */
const LEAST = {
  string: '',
  folded: '',
  number: Number.NEGATIVE_INFINITY,
  date: new Date(-8_640_000_000_000_000),
};

export function isUnique(field: ListField): boolean {
  return 'unique' in field && field.unique === true;
}

export function sortTypeOf({ type }: ListField): Sort['type'] {
  return type === 'folded' || type === 'choice' ? 'string' : type;
}

/**
 * Meets every document that has the field. A unique text is never empty. Written as a comparison, because the planner
 * sees that an equality implies it; of { $type: 'string' } it does not, and would not read a partial index.
 */
export function isPresent(field: ListField): Filter {
  const least = 'values' in field || field.type === 'boolean' ? undefined : LEAST[field.type];
  return { [field.stored]: isUnique(field) && least === '' ? { $gt: '' } : { $gte: least } };
}

/** The values of a field of few that meet all conditions on it, in their order; undefined for any other field. */
export function choicesOf(field: ListField, conditions: readonly Condition[]): FilterValue[] | undefined {
  const all = allChoices(field);
  return all?.filter((value) => conditions.every((condition) => meets(value, condition)));
}

/**
 * What conditions on a field ask of a document; undefined when nothing can meet them.
 * @param hasTombstones whether there are documents without the field, which are not to be found
 */
export function filtersOf(
  field: ListField,
  conditions: readonly Condition[],
  hasTombstones: boolean,
): Filter[] | undefined {
  const choices = choicesOf(field, conditions);
  if (choices === undefined) return conditions.flatMap((it) => filtersOfOne(field, it, hasTombstones));
  if (choices.length === 0) return undefined;
  return choices.length === allChoices(field)?.length ? [] : [{ [field.stored]: { $in: choices } }];
}

/** The range of a field that is not unique. */
export function rangeOf(
  field: ListField,
  conditions: readonly Condition[],
  hasTombstones: boolean,
): FieldRange {
  // Documents without the field, if there are any to be found, come first.
  const skipsAbsent = hasTombstones || conditions.some(({ operator }) => operator !== 'ne');
  const choices = choicesOf(field, conditions);
  if (choices !== undefined) {
    if (!skipsAbsent) return { range: {}, isComplete: conditions.length === 0 };
    const [first, last] = [choices[0], choices.at(-1)];
    const between = allChoices(field)?.filter(
      (value) => compareValues(value, first) >= 0 && compareValues(value, last) <= 0,
    );
    return {
      range: { lower: { value: first, inclusive: true }, upper: { value: last, inclusive: true } },
      isComplete: between?.length === choices.length,
    };
  }
  const least = LEAST[field.type as keyof typeof LEAST];
  let lower: Limit | undefined = skipsAbsent ? { value: least, inclusive: true } : undefined;
  let upper: Limit | undefined;
  let isComplete = true;
  for (const { operator, values } of conditions) {
    const sorted = keysOf(field, values).sort(compareValues);
    const [value, last] = [sorted[0], sorted.at(-1)];
    if (operator === 'ne' || sorted.length > 1) isComplete = false;
    const isEqual = operator === 'eq' || operator === 'in';
    if (operator === 'gt' || operator === 'gte' || isEqual) {
      lower = narrower(lower, { value, inclusive: operator !== 'gt' }, 1);
    }
    if (operator === 'lt' || operator === 'lte' || isEqual) {
      upper = narrower(upper, { value: last, inclusive: operator !== 'lt' }, -1);
    }
  }
  return {
    range: { ...(lower === undefined ? {} : { lower }), ...(upper === undefined ? {} : { upper }) },
    isComplete,
  };
}

function filtersOfOne(field: ListField, condition: Condition, hasTombstones: boolean): Filter[] {
  const { operator, values } = condition;
  const { stored } = field;
  const keys = keysOf(field, values);
  const filter = { [stored]: { [`$${operator}`]: operator === 'in' ? keys : keys[0] } };
  const isOrdering = operator !== 'eq' && operator !== 'ne' && operator !== 'in';
  if ('absent' in field && isOrdering) return [{ [stored]: { $gte: `${field.absent}\uffff` } }, filter];
  // A unique index is partial where there are tombstones, which are also other than any value.
  const needsPresence = hasTombstones && stored !== '_id' && (isUnique(field) || operator === 'ne');
  return needsPresence ? [isPresent(field), filter] : [filter];
}

function allChoices(field: ListField): readonly FilterValue[] | undefined {
  if (field.type === 'boolean') return [false, true];
  return field.type === 'choice' ? field.values.toSorted() : undefined;
}

/** Values as they are stored. */
function keysOf({ type }: ListField, values: readonly FilterValue[]): FilterValue[] {
  return values.map((value) => (type === 'folded' ? foldedKey(String(value)) : value));
}

function meets(value: FilterValue, { operator, values }: Condition): boolean {
  const order = compareValues(value, values[0]);
  switch (operator) {
    case 'eq':
      return value === values[0];
    case 'ne':
      return value !== values[0];
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
