import type { Condition } from '@gatehouse/domain/list-query';
import {
  FILTER_LIMITS,
  type FilterField,
  type FilterFields,
  isFilterParameter,
  ownProperty,
  parseFilterParameter,
  readFilter,
  readPlainFilter,
} from './filters.ts';
import type { QueryParameters } from './query-parameters.ts';

/** The filters that a list accepts. */
export type FilterRules<F extends string> = {
  filters: FilterFields<F>;
  /** The filters that the interface itself writes as plain parameters (status in /v2); these are not deprecated. */
  plain?: readonly string[];
  /** The plain ones without which there is no list. */
  required?: readonly string[];
  /** Whether the other filters may also be written as plain parameters, which is deprecated (/v1, /api/v1). */
  legacy?: boolean;
  /** The filters of other lists at the same path, which this list refuses. */
  elsewhere?: readonly string[];
};

/** The most characters of all filters together, as written in a URL. */
const MAX_TOTAL_LENGTH = 4096;

/** Reads the filters among the parameters. Invalid ones are added to the parameters' problems. */
export function readConditions<F extends string>(parameters: QueryParameters, rules: FilterRules<F>) {
  const conditions: Condition<F>[] = [];
  const filters: [name: string, value: string][] = [];
  let deprecated = false;
  for (const name of parameters.names) {
    const reading = filterOf(name, rules);
    if (reading === undefined) continue;
    const text = parameters.text(name);
    if (text === undefined) continue;
    const read = typeof reading === 'string' ? { problem: reading } : reading.read(text);
    if ('problem' in read) {
      parameters.addProblem(name, read.problem);
    } else {
      conditions.push(...read);
      filters.push([name, text]);
      deprecated ||= typeof reading !== 'string' && reading.deprecated;
    }
  }
  for (const name of rules.required ?? []) {
    const isGiven = parameters.names.some(
      (parameter) => parameter === name || parseFilterParameter(parameter)?.name === name,
    );
    if (!isGiven) parameters.addProblem(name, 'is required');
  }
  if (conditions.length > FILTER_LIMITS.conditions) {
    parameters.addProblem('filter', `must have at most ${FILTER_LIMITS.conditions} conditions`);
  }
  // Links repeat the filters, which must fit into the headers of a response and into the next request line.
  if (new URLSearchParams(filters).toString().length > MAX_TOTAL_LENGTH) {
    parameters.addProblem(
      'filter',
      `must have at most ${MAX_TOTAL_LENGTH} characters in all, as written in a URL`,
    );
  }
  return { conditions, filters, deprecated };
}

type Reading<F extends string> = {
  read(text: string): Condition<F>[] | { problem: string };
  deprecated: boolean;
};

/** How to read a parameter as a filter, or the problem with its name; undefined if it is not a filter. */
function filterOf<F extends string>(name: string, rules: FilterRules<F>): Reading<F> | string | undefined {
  const { filters, plain = [], legacy = false, elsewhere = [] } = rules;
  if (!isFilterParameter(name)) {
    const field = ownProperty(filters, name);
    if (field === undefined) return elsewhere.includes(name) ? notHere(filters) : undefined;
    // If it were ignored, the list would hold every row.
    if (!legacy && !plain.includes(name)) return `is a filter: write filter[${name}]`;
    return { read: (text) => readPlainFilter(field, text), deprecated: !plain.includes(name) };
  }
  const parsed = parseFilterParameter(name);
  if (parsed === undefined) return 'must be written filter[field] or filter[field][operator]';
  const field: FilterField<F> | undefined = ownProperty(filters, parsed.name);
  if (field === undefined) return notHere(filters);
  return { read: (text) => readFilter(field, parsed.operator, text), deprecated: false };
}

function notHere(filters: FilterFields<string>): string {
  const known = Object.keys(filters).join(', ');
  return known === '' ? 'is no filter here' : `is no filter here; there are ${known}`;
}
