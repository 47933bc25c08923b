import type { Condition } from '@gatehouse/kit/list-query';
import { type TSchema, Type } from 'typebox';
import {
  FILTER_LIMITS,
  type FilterField,
  type FilterFields,
  isFilterParameter,
  operatorsOf,
  own,
  parseFilterParameter,
  readFilter,
  readPlainFilter,
} from './filters.ts';
import type { Parameters } from './parameters.ts';

/** By which parameters a list may be filtered. */
export type FilterRules<F extends string> = {
  filters: FilterFields<F>;
  /** Plain parameters that are filters by the interface itself (status in /v2): never deprecated. */
  plain?: readonly string[];
  /** Whether every other filter may be given plainly as well, which is deprecated (/v1, /api/v1). */
  legacy?: boolean;
  /** Filters of other lists at the same path: to ask for one of them here is a mistake. */
  elsewhere?: readonly string[];
};

/** Of all filters together, in characters as written in a URL. */
const MAX_LENGTH = 4096;

/** The filters among the parameters; what is wrong with them becomes a problem of the parameters. */
export function readConditions<F extends string>(parameters: Parameters, rules: FilterRules<F>) {
  const conditions: Condition<F>[] = [];
  const kept: [name: string, value: string][] = [];
  let deprecated = false;
  for (const name of parameters.names) {
    const reading = filterOf(name, rules);
    if (reading === undefined) continue;
    const text = parameters.text(name);
    if (text === undefined) continue;
    const read = typeof reading === 'string' ? { problem: reading } : reading.read(text);
    if ('problem' in read) {
      parameters.problem(name, read.problem);
    } else {
      conditions.push(...read);
      kept.push([name, text]);
      deprecated ||= typeof reading !== 'string' && reading.deprecated;
    }
  }
  if (conditions.length > FILTER_LIMITS.conditions) {
    parameters.problem('filter', `must have at most ${FILTER_LIMITS.conditions} conditions`);
  }
  // Links repeat the filters, and an answer's headers and the next request line must be able to hold them.
  if (new URLSearchParams(kept).toString().length > MAX_LENGTH) {
    parameters.problem('filter', `must have at most ${MAX_LENGTH} characters in all, as written in a URL`);
  }
  return { conditions, kept, deprecated };
}

type Reading<F extends string> = {
  read(text: string): Condition<F>[] | { problem: string };
  deprecated: boolean;
};

/** How a parameter is read as a filter, or what is wrong with its name; undefined when it is none. */
function filterOf<F extends string>(name: string, rules: FilterRules<F>): Reading<F> | string | undefined {
  const { filters, plain = [], legacy = false, elsewhere = [] } = rules;
  if (!isFilterParameter(name)) {
    const field = own(filters, name);
    if (field === undefined) return elsewhere.includes(name) ? notHere(filters) : undefined;
    // Ignored, it would bring everybody.
    if (!legacy && !plain.includes(name)) return `is a filter: write filter[${name}]`;
    return { read: (text) => readPlainFilter(field, text), deprecated: !plain.includes(name) };
  }
  const parsed = parseFilterParameter(name);
  if (parsed === undefined) return 'must be written filter[field] or filter[field][operator]';
  const field: FilterField<F> | undefined = own(filters, parsed.name);
  if (field === undefined) return notHere(filters);
  return { read: (text) => readFilter(field, parsed.operator, text), deprecated: false };
}

function notHere(filters: FilterFields<string>): string {
  const known = Object.keys(filters).join(', ');
  return known === '' ? 'is no filter here' : `is no filter here; there are ${known}`;
}

/** The schemas of all filter parameters, for the description of the interface. */
export function filterParameters(rules: FilterRules<string>): Record<string, TSchema> {
  const { filters, plain = [], legacy = false } = rules;
  const parameters: Record<string, TSchema> = {};
  for (const [name, field] of Object.entries(filters)) {
    parameters[`filter[${name}]`] = Type.String({ description: describe(name, field) });
    // Those that most are asked for by, so that a generated client knows them.
    for (const [operator, words] of field.type === 'date' ? RANGES : []) {
      parameters[`filter[${name}][${operator}]`] = Type.String({
        description: `Only rows whose ${name} is ${words}. ${VALUES.date}.`,
      });
    }
    if (plain.includes(name)) {
      parameters[name] = plainSchema(field, `Only rows with this ${name}.`);
    } else if (legacy) {
      const description = `Deprecated: write filter[${name}] instead. One value.`;
      parameters[name] = { ...plainSchema(field, description), deprecated: true };
    }
  }
  return parameters;
}

function plainSchema({ type, values }: FilterField<string>, description: string): TSchema {
  if (values !== undefined) return Type.String({ enum: [...values], description });
  if (type === 'integer') return Type.Integer({ description });
  if (type === 'boolean') return Type.Boolean({ description });
  return Type.String({ description });
}

function describe(name: string, field: FilterField<string>): string {
  const values = field.values === undefined ? VALUES[field.type] : `One of ${field.values.join(', ')}`;
  const others = operatorsOf(field).filter((operator) => operator !== 'eq');
  return (
    `${values}. Several, separated by commas: any of them. ` +
    `Other operators, as filter[${name}][operator]: ${others.join(', ')}.`
  );
}

const RANGES = [
  ['gt', 'after this'],
  ['gte', 'this or after it'],
  ['lt', 'before this'],
  ['lte', 'this or before it'],
] as const;

const VALUES: Record<FilterField<string>['type'], string> = {
  string: 'A text',
  date: 'A date or a date and time (RFC 3339), such as 2025-07-10 or 2025-07-10T12:00:00Z',
  integer: 'A whole number',
  boolean: 'true or false',
};
