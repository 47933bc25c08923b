import { isStorable } from '@gatehouse/http/json-body';
import {
  type Condition,
  FILTER_OPERATORS,
  type FilterOperator,
  type FilterValue,
} from '@gatehouse/kit/list-query';

/** A field that a list may be filtered by: what it is inside, and what its values look like outside. */
export type FilterField<F extends string> = {
  field: F;
  type: 'string' | 'date' | 'integer' | 'boolean';
  /** All values that there are, when they can be named. */
  values?: readonly string[];
};

/** What may be filtered by, under the names outside. */
export type FilterFields<F extends string> = Readonly<Record<string, FilterField<F>>>;

/** The most conditions of one list, values of one condition, and characters of one value. */
export const FILTER_LIMITS = { conditions: 20, values: 50, length: 256 };

/** A property of the record itself, and none that every object has. */
export function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

const PARAMETER = /^filter\[([^[\]]+)\](?:\[([^[\]]+)\])?$/;

/** Whether a parameter is meant as a filter, well written or not. */
export function isFilterParameter(name: string): boolean {
  return name === 'filter' || name.startsWith('filter[');
}

/** The parts of `filter[field]` and `filter[field][operator]`; undefined when the parameter is neither. */
export function parseFilterParameter(name: string): { name: string; operator: string } | undefined {
  const [, field, operator = 'eq'] = PARAMETER.exec(name) ?? [];
  return field === undefined ? undefined : { name: field, operator };
}

/** The operators that a field takes: those that ask for an order only where there is one. */
export function operatorsOf({ type, values }: FilterField<string>): readonly FilterOperator[] {
  return type === 'boolean' || values !== undefined ? ['eq', 'ne', 'in'] : FILTER_OPERATORS;
}

/**
 * The conditions that one parameter stands for, or what is wrong with it in words that follow its name. Commas
 * separate the values of `eq` and `in`, of which one must hold, and of `ne`, of which none may.
 */
export function readFilter<F extends string>(
  field: FilterField<F>,
  operator: string,
  text: string,
): Condition<F>[] | { problem: string } {
  const known = operatorsOf(field).find((one) => one === operator);
  if (known === undefined) {
    return { problem: `has no such operator; there are ${operatorsOf(field).join(', ')}` };
  }
  const several = known === 'eq' || known === 'in' || known === 'ne';
  const texts = several ? text.split(',', FILTER_LIMITS.values + 1) : [text];
  if (texts.length > FILTER_LIMITS.values) {
    return { problem: `must have at most ${FILTER_LIMITS.values} values` };
  }
  const values: FilterValue[] = [];
  for (const one of texts) {
    const value = readValue(field, one);
    if (value === undefined) return { problem: expectation(field, one) };
    values.push(value);
  }
  const { field: inside } = field;
  if (known === 'in' || (known === 'eq' && values.length > 1)) {
    return [{ field: inside, operator: 'in', values }];
  }
  return values.map((value) => ({ field: inside, operator: known, values: [value] }));
}

/** The same for the plain form `field=value`, which has one value and no commas. */
export function readPlainFilter<F extends string>(
  field: FilterField<F>,
  text: string,
): Condition<F>[] | { problem: string } {
  const value = readValue(field, text);
  if (value === undefined) return { problem: expectation(field, text) };
  return [{ field: field.field, operator: 'eq', values: [value] }];
}

function readValue({ type, values }: FilterField<string>, text: string): FilterValue | undefined {
  if (text === '' || text.length > FILTER_LIMITS.length || !isStorable(text)) return undefined;
  switch (type) {
    case 'string':
      return values === undefined || values.includes(text) ? text : undefined;
    case 'date':
      return readDate(text);
    case 'integer': {
      const number = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
      return Number.isSafeInteger(number) ? number : undefined;
    }
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined;
  }
}

function expectation({ type, values }: FilterField<string>, text: string): string {
  if (text === '') return 'must not be empty';
  if (text.length > FILTER_LIMITS.length) return `must have at most ${FILTER_LIMITS.length} characters`;
  if (values !== undefined) return `must be one of ${values.join(', ')}`;
  return EXPECTATIONS[type];
}

const EXPECTATIONS: Record<FilterField<string>['type'], string> = {
  string: 'must be a text',
  date:
    'must be a date or a date and time with its offset (its + written as %2B), ' +
    'such as 2025-07-10 or 2025-07-10T12:00:00Z',
  integer: 'must be a whole number',
  boolean: 'must be true or false',
};

/** RFC 3339 §5.6: a full-date, which is midnight UTC, or a date-time. */
const DATE =
  /^(\d{4}-\d\d-\d\d)(?:[Tt]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

/** Digits below the millisecond are cut off; a leap second is no time that can be told apart. */
function readDate(text: string): Date | undefined {
  const [, day, time = '00:00:00', fraction = '', offset = 'Z'] = DATE.exec(text) ?? [];
  if (day === undefined) return undefined;
  // A day that no calendar has is another day once it is read, or none.
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined;
  return new Date(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}${offset.toUpperCase()}`);
}
