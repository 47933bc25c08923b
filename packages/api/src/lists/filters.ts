import { type Fields, inSnakeCase, type ListFieldOf } from '@gatehouse/domain/fields';
import {
  type Condition,
  FILTER_OPERATORS,
  type FilterOperator,
  type FilterValue,
} from '@gatehouse/domain/list-query';
import { isStorable } from '../http/json-body.ts';

/**
 * A field by which a list can be filtered: its internal name, and the type of its values in a query. A `search` is a text
 * of words that are looked for; a list with one is sorted by relevance by default.
 */
export type FilterField<F extends string> = {
  field: F;
  type: 'string' | 'date' | 'integer' | 'number' | 'boolean' | 'search';
  /** All possible values, if the type is an enumeration. */
  values?: readonly string[];
  /** The operators, if not all those of the type. */
  operators?: readonly FilterOperator[];
  /** A search that may not look at all rows: the response then says so. */
  bounded?: true;
};

/** The fields by which a list can be filtered, by their names in a query. */
export type FilterFields<F extends string> = Readonly<Record<string, FilterField<F>>>;

/**
 * The filters by the fields of an entity: by default by all that its lists have.
 *
 * @param nameOf the name of a field in a query
 */
export function filtersOf<E extends Fields>(
  fields: E,
  names: readonly ListFieldOf<E>[] = listFieldsOf(fields),
  nameOf: (field: ListFieldOf<E>) => string = inSnakeCase,
): FilterFields<ListFieldOf<E>> {
  return Object.fromEntries(names.map((field) => [nameOf(field), { field, ...typeOf(fields, field) }]));
}

const listFieldsOf = <E extends Fields>(fields: E) =>
  Object.keys(fields).filter((name) => fields[name]?.definition.list !== undefined) as ListFieldOf<E>[];

function typeOf(fields: Fields, name: string): Omit<FilterField<string>, 'field'> {
  const { type, values, input } = fields[name]?.definition ?? {};
  if (type === 'enum' && values !== undefined) return { type: 'string', values };
  if (type === 'number') return { type: input?.max === undefined ? 'number' : 'integer' };
  if (type === 'string' || type === 'date' || type === 'boolean') return { type };
  throw new Error(`Lists cannot be filtered by ${name}.`);
}

/** The maximum numbers of conditions in a query, values of a condition, and characters of a value. */
export const FILTER_LIMITS = { conditions: 20, values: 50, length: 256 };

/** The record's own property: unlike an index, it finds nothing for `constructor`. */
export function ownProperty<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

const PARAMETER = /^filter\[([^[\]]+)\](?:\[([^[\]]+)\])?$/;

/** Whether a parameter is meant as a filter, even a malformed one. */
export function isFilterParameter(name: string): boolean {
  return name === 'filter' || name.startsWith('filter[');
}

/** The parts of `filter[field]` or `filter[field][operator]`; undefined if the parameter is neither. */
export function parseFilterParameter(name: string): { name: string; operator: string } | undefined {
  const [, field, operator = 'eq'] = PARAMETER.exec(name) ?? [];
  return field === undefined ? undefined : { name: field, operator };
}

/** The operators of a field; only ordered types have comparisons. */
export function operatorsOf({ type, values, operators }: FilterField<string>): readonly FilterOperator[] {
  if (operators !== undefined) return operators;
  if (type === 'search') return ['eq'];
  return type === 'boolean' || values !== undefined ? ['eq', 'ne', 'in'] : FILTER_OPERATORS;
}

/**
 * The conditions that one parameter expresses, or its problem, in words that follow its name. Commas separate several
 * values: `eq` and `in` match any of them, and `ne` none.
 */
export function readFilter<F extends string>(
  field: FilterField<F>,
  operator: string,
  text: string,
): Condition<F>[] | { problem: string } {
  const known = operatorsOf(field).find((candidate) => candidate === operator);
  if (known === undefined) {
    return { problem: `has no such operator; there are ${operatorsOf(field).join(', ')}` };
  }
  const several = field.type !== 'search' && (known === 'eq' || known === 'in' || known === 'ne');
  const texts = several ? text.split(',', FILTER_LIMITS.values + 1) : [text];
  if (texts.length > FILTER_LIMITS.values) {
    return { problem: `must have at most ${FILTER_LIMITS.values} values` };
  }
  const values: FilterValue[] = [];
  for (const part of texts) {
    const value = readValue(field, part);
    if (value === undefined) return { problem: expectation(field, part) };
    values.push(value);
  }
  const { field: name } = field;
  if (known === 'in' || (known === 'eq' && values.length > 1)) {
    return [{ field: name, operator: 'in', values }];
  }
  // After a day is from the next midnight on, and up to a day is before that.
  if (field.type === 'date' && (known === 'gt' || known === 'lte')) {
    const end = readDateEnd(text);
    if (end !== undefined && isDay(text)) {
      return [{ field: name, operator: known === 'gt' ? 'gte' : 'lt', values: [end] }];
    }
  }
  return values.map((value) => ({ field: name, operator: known, values: [value] }));
}

/** The same for the plain form `field=value`, which has a single value: a comma is part of it. */
export function readPlainFilter<F extends string>(
  field: FilterField<F>,
  text: string,
): Condition<F>[] | { problem: string } {
  const value = readValue(field, text);
  if (value === undefined) return { problem: expectation(field, text) };
  return [{ field: field.field, operator: 'eq', values: [value] }];
}

/** In characters (code points), as the lengths of names are. */
function isTooLong(text: string): boolean {
  return text.length > FILTER_LIMITS.length && [...text].length > FILTER_LIMITS.length;
}

function readValue({ type, values }: FilterField<string>, text: string): FilterValue | undefined {
  if (text === '' || isTooLong(text) || !isStorable(text)) return undefined;
  switch (type) {
    case 'search':
      return text;
    case 'string':
      return values === undefined || values.includes(text) ? text : undefined;
    case 'date':
      return readDate(text);
    case 'integer': {
      const number = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
      return Number.isSafeInteger(number) ? number : undefined;
    }
    case 'number':
      return NUMBER.test(text) ? Number(text) : undefined;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined;
  }
}

function expectation({ type, values }: FilterField<string>, text: string): string {
  if (text === '') return 'must not be empty';
  if (isTooLong(text)) return `must have at most ${FILTER_LIMITS.length} characters`;
  if (values !== undefined) return `must be one of ${values.join(', ')}`;
  return EXPECTATIONS[type];
}

const EXPECTATIONS: Record<FilterField<string>['type'], string> = {
  string: 'must be a string',
  date:
    'must be a date or a date and time with its offset (its + written as %2B), ' +
    'such as 2025-07-10 or 2025-07-10T12:00:00Z',
  integer: 'must be a whole number',
  number: 'must be a number such as 12 or 12.50',
  search: 'must be words to look for',
  boolean: 'must be true or false',
};

/** No more digits than a double keeps. */
const NUMBER = /^-?(?=[\d.]{1,16}$)\d+(?:\.\d+)?$/;

/** RFC 3339 §5.6: a full-date, which is midnight UTC, or a date-time. */
const DATE =
  /^(\d{4}-\d\d-\d\d)(?:[Tt]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

/** Digits below the millisecond are cut off; leap seconds are refused. */
export function readDate(text: string): Date | undefined {
  const [, day, time = '00:00:00', fraction = '', offset = 'Z'] = DATE.exec(text) ?? [];
  if (day === undefined) return undefined;
  // An impossible day is parsed as another day, or not at all.
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined;
  return new Date(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}${offset.toUpperCase()}`);
}

const DAY_MS = 86_400_000;

/** Whether a text that readDate reads is a day without a time. */
export function isDay(text: string): boolean {
  return text.length === 'yyyy-mm-dd'.length;
}

/** The time before which a range ends that a text closes: a day belongs to the range as a whole. */
export function readDateEnd(text: string): Date | undefined {
  const time = readDate(text);
  return time === undefined || !isDay(text) ? time : new Date(time.getTime() + DAY_MS);
}
