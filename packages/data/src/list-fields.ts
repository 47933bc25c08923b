import { foldedKey } from '@gatehouse/domain/folded-key';
import type { Condition, FilterValue } from '@gatehouse/domain/list-query';
import { nameWordsOf } from '@gatehouse/domain/search-words';
import { compareValues, type RangeLimit, type SortedList } from './keyset.ts';

export type Filter = Record<string, unknown>;

/**
 * A field that lists are filtered and sorted by. All documents that are not deleted have it, under the name `stored`. Its
 * index has MongoDB's default name unless `index` is given.
 */
export type ListField = { stored: string; index?: string } & (
  | { type: 'string' | 'number' | 'date'; unique?: true }
  /** The foldedKey of a string, or another key. */
  | { type: 'folded'; unique?: false; key?: (text: string) => string }
  /**
   * `missingPrefix` begins the unique keys of documents without such a string. They sort first, but no comparison with a
   * value matches them.
   */
  | { type: 'folded'; unique: true; missingPrefix?: string; key?: (text: string) => string }
  /** A field with a few possible values. `mostCommon` is the one that most documents have. */
  | { type: 'enum'; values: readonly string[]; mostCommon?: string }
  | { type: 'boolean'; mostCommon?: boolean }
  /**
   * The array of nameWordsOf() texts, and more. A condition matches the documents in which each word of its value begins one of these, or
   * whose stored field `text`, the foldedKey of the texts, contains its value: see Search.
   */
  | { type: 'words'; text: string }
);

/** The minimum value of each type. */
const MIN_VALUES: Record<ListField['type'], FilterValue> = {
  string: '',
  folded: '',
  enum: '',
  boolean: false,
  words: '',
  number: Number.NEGATIVE_INFINITY,
  date: new Date(-8_640_000_000_000_000),
};

export function isUnique(field: ListField): boolean {
  return 'unique' in field && field.unique === true;
}

/** The possible values of an enum or boolean field, in order; undefined for other fields. */
export function enumValues(field: ListField): readonly FilterValue[] | undefined {
  if (field.type === 'boolean') return [false, true];
  return field.type === 'enum' ? field.values.toSorted() : undefined;
}

/**
 * Matches every document that has the field. A unique string is never empty. A comparison and not { $type: 'string' }: only
 * of a comparison does the planner know that an equality implies it, and so that it can use a partial index.
 */
export function hasField(field: ListField): Filter {
  const least = MIN_VALUES[field.type];
  return { [field.stored]: isUnique(field) && least === '' ? { $gt: '' } : { $gte: least } };
}

/**
 * The conditions on a field, with values as stored. On an enum field they become one `in` of the values that match all of
 * them, or no condition if every value does. Undefined when no value matches.
 */
export function normalize(field: ListField, conditions: readonly Condition[]): Condition[] | undefined {
  const all = enumValues(field);
  if (all === undefined) {
    const keyOf = (value: FilterValue) => {
      if (field.type !== 'folded' && field.type !== 'words') return value;
      const key = ('key' in field && field.key) || foldedKey;
      return key(String(value));
    };
    return conditions.map((condition) => ({ ...condition, values: condition.values.map(keyOf) }));
  }
  const values = all.filter((value) => conditions.every((condition) => matches(value, condition)));
  if (values.length === 0) return undefined;
  return values.length === all.length ? [] : [{ field: field.stored, operator: 'in', values }];
}

/**
 * The filters of a normalized condition; of one on words, those on their beginnings.
 * @param hasTombstones whether the collection has tombstones, which must not be found
 */
export function filtersOf(field: ListField, condition: Condition, hasTombstones: boolean): Filter[] {
  const { operator, values } = condition;
  const { stored } = field;
  if (field.type === 'words') {
    const words = nameWordsOf(String(values[0]));
    // A text without words begins none.
    if (words.length === 0) return [{ [stored]: { $in: [] } }];
    return words.map((word) => ({ [stored]: { $regex: `^${word}` } }));
  }
  const filter = { [stored]: { [`$${operator}`]: operator === 'in' ? values : values[0] } };
  const isBelow = operator === 'lt' || operator === 'lte';
  if ('missingPrefix' in field && isBelow)
    return [{ [stored]: { $gte: `${field.missingPrefix}\uffff` } }, filter];
  // With tombstones, unique indexes are partial, and $ne would match tombstones.
  const needsPresence = hasTombstones && stored !== '_id' && (isUnique(field) || operator === 'ne');
  return needsPresence ? [hasField(field), filter] : [filter];
}

/** The filter of documents whose texts contain the value of a normalized condition on their words. */
export function containing(field: ListField & { type: 'words' }, { values }: Condition): Filter {
  return { [field.text]: { $regex: String(values[0]).replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') } };
}

/**
 * The range of a list that is sorted by a field that is not unique, and whether it is equivalent to the normalized
 * conditions on the field.
 */
export function rangeOf(
  field: ListField,
  conditions: readonly Condition[],
  hasTombstones: boolean,
): { range: NonNullable<SortedList['range']>; isComplete: boolean } {
  // Documents without the field sort first.
  const skipsMissing = hasTombstones || conditions.some(({ operator }) => operator !== 'ne');
  const all = enumValues(field);
  const least = all?.[0] ?? MIN_VALUES[field.type];
  let lower: RangeLimit | undefined = skipsMissing ? { value: least, inclusive: true } : undefined;
  let upper: RangeLimit | undefined =
    skipsMissing && all ? { value: all.at(-1), inclusive: true } : undefined;
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

/** Whether there are other values between these sorted ones. */
function hasGaps(field: ListField, values: readonly FilterValue[]): boolean {
  const all = enumValues(field);
  if (all === undefined) return values.length > 1;
  const indexes = values.map((value) => all.indexOf(value));
  return (indexes.at(-1) ?? 0) - (indexes[0] ?? 0) >= values.length;
}

/** Whether a value, as stored, meets a condition. */
export function matches(value: FilterValue, { operator, values }: Condition): boolean {
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

/** The narrower of two limits: the greater of lower limits (sign 1), the smaller of upper limits (sign -1). */
function narrower(a: RangeLimit | undefined, b: RangeLimit, sign: 1 | -1): RangeLimit {
  if (a === undefined) return b;
  const order = sign * compareValues(a.value, b.value);
  return order > 0 || (order === 0 && !a.inclusive) ? a : b;
}
