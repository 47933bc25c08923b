import type { Condition, FilterOperator, ListQuery } from '@gatehouse/domain/list-query';
import { invalidFields } from '../http/schema.ts';
import { type Cursor, decodeCursor, listHash } from './cursor.ts';
import { type FilterRules, readConditions } from './filter-conditions.ts';
import { type FilterFields, ownProperty } from './filters.ts';
import { MAX_OFFSET, PAGE_SIZE } from './paging.ts';
import { type QueryParameters, queryParameters } from './query-parameters.ts';

/** The filters, sorting and paging of a list. F is the type of its internal field names. */
export type ListRules<F extends string> = FilterRules<F> & {
  /** The path of its links, such as '/v1/users'. */
  path: string;
  /**
   * The sort fields by their names in a query, and the names of the parameters. Without a sort, rows are in ascending
   * order of the first field in `filters` that has a range, else of their ids.
   */
  sort?: { fields: Readonly<Record<string, F>>; by: string; order: string };
  /** The order of a list that has no other, such as a log with the latest entry first. */
  order?: ListQuery<F>['sort'];
  /** How pages are requested without a cursor, according to the documentation; a list with `cursor` has no others. */
  paging: 'offset' | 'page' | 'cursor';
};

export type ListRequest<F extends string> = ListQuery<F> & {
  limit: number;
  page: { kind: 'offset'; offset: number } | { kind: 'cursor'; cursor: Cursor | undefined };
  /** Whether the query has a filter in its deprecated form. */
  deprecated: boolean;
  /** The parameters that links repeat, as they were sent: filters, sort and limit. */
  linkParameters: [name: string, value: string][];
};

const RANGES: readonly FilterOperator[] = ['gt', 'gte', 'lt', 'lte'];
const USE_CURSOR = 'go on with the cursor parameter';
const MAX_PROBLEMS = 20;

/** Compiles a reader of a list's queries, which throws `invalid` with the invalid parameters. */
export function listReader<F extends string>(rules: ListRules<F>): (query: unknown) => ListRequest<F> {
  checkNames(rules);
  return (query) => {
    const parameters = queryParameters(query);
    const { conditions, filters, deprecated } = readConditions(parameters, rules);
    const sort = readSort(parameters, rules, conditions);
    const limit = parameters.integer('limit', 1, PAGE_SIZE.max) ?? PAGE_SIZE.default;
    const page = readPage(parameters, rules, { conditions, sort }, limit);
    if (parameters.problems.length > 0) throw invalidFields(parameters.problems.slice(0, MAX_PROBLEMS));
    const linkParameters = [...filters];
    for (const name of [rules.sort?.by, rules.sort?.order, 'limit']) {
      const text = name === undefined ? undefined : parameters.text(name);
      if (name !== undefined && text !== undefined) linkParameters.push([name, text]);
    }
    return { conditions, sort, limit, page, deprecated, linkParameters };
  };
}

function readSort<F extends string>(
  parameters: QueryParameters,
  { sort, order: only, filters }: ListRules<F>,
  conditions: readonly Condition<F>[],
): ListQuery<F>['sort'] {
  if (only !== undefined) return only;
  // A range is sorted by its own field, so that one index both finds and sorts it. Every list can be sorted by id,
  // whether or not that is documented.
  const ranges = conditions.filter(({ operator }) => RANGES.includes(operator)).map(({ field }) => field);
  const range = Object.values(filters).find(({ field }) => ranges.includes(field));
  const isSearch = conditions.some(({ field }) => typeOf(field, filters) === 'search');
  const fallback = isSearch ? ('relevance' as F) : (range?.field ?? ('id' as F));
  const byDefault = { field: fallback, descending: false };
  if (sort === undefined) return byDefault;
  const name = parameters.text(sort.by);
  const field = name === undefined ? byDefault.field : ownProperty(sort.fields, name);
  if (field === undefined) {
    parameters.addProblem(sort.by, `must be one of ${Object.keys(sort.fields).join(', ')}`);
  }
  if (field === 'relevance' && !isSearch) {
    parameters.addProblem(sort.by, 'can be relevance only where words are looked for');
  }
  const order = parameters.text(sort.order) ?? 'asc';
  if (order !== 'asc' && order !== 'desc') parameters.addProblem(sort.order, 'must be asc or desc');
  return { field: field ?? byDefault.field, descending: order === 'desc' };
}

function readPage<F extends string>(
  parameters: QueryParameters,
  { filters, paging }: ListRules<F>,
  list: ListQuery<F>,
  limit: number,
): ListRequest<F>['page'] {
  if (parameters.has('cursor') || paging === 'cursor') {
    const other = ['offset', 'page'].find(parameters.has);
    if (other !== undefined && parameters.has('cursor')) {
      parameters.addProblem('cursor', `cannot be given together with ${other}`);
    } else if (other !== undefined) {
      parameters.addProblem(other, 'is not a parameter of this list, which is paged by cursor');
    }
    return { kind: 'cursor', cursor: readCursor(parameters, filters, list) };
  }
  if (parameters.has('offset') && parameters.has('page')) {
    parameters.addProblem('page', 'cannot be given together with offset');
  }
  // Every list accepts both parameters: a client that sends the other one must not get the first page again and again.
  const offset = parameters.integer('offset', 0, MAX_OFFSET, USE_CURSOR);
  const last = Math.floor(MAX_OFFSET / limit) + 1;
  const number = parameters.integer('page', 1, last, USE_CURSOR) ?? 1;
  return { kind: 'offset', offset: offset ?? (number - 1) * limit };
}

function readCursor<F extends string>(
  parameters: QueryParameters,
  filters: FilterFields<F>,
  list: ListQuery<F>,
): Cursor | undefined {
  const text = parameters.text('cursor');
  // An empty cursor asks for the first page.
  if (text === undefined || text === '') return undefined;
  const cursor = decodeCursor(text);
  if (cursor === undefined || !isValueOf(cursor.position.value, list.sort.field, filters)) {
    parameters.addProblem('cursor', 'is not one of a link of this list');
  } else if (cursor.hash !== listHash(list)) {
    parameters.addProblem('cursor', 'belongs to a list with other filters or another sort');
  }
  return cursor;
}

/** Whether a cursor can have this value for the sort field, whose type is known if it is also a filter. */
function isValueOf(value: Cursor['position']['value'], sortField: string, filters: FilterFields<string>) {
  if (sortField === 'id' || value === null) return value === null;
  if (sortField === 'relevance') return typeof value === 'number';
  const type = typeOf(sortField, filters);
  switch (type) {
    case 'date':
      return typeof value === 'number' && Math.abs(value) <= 8.64e15;
    case 'integer':
    case 'number':
      return typeof value === 'number';
    case undefined:
      return true;
    default:
      return typeof value === type;
  }
}

function typeOf(name: string, filters: FilterFields<string>) {
  return Object.values(filters).find(({ field }) => field === name)?.type;
}

/** Throws if a filter's name is already taken, or a plain parameter is not a filter. */
function checkNames({ filters, plain = [], sort }: ListRules<string>): void {
  const taken = ['limit', 'offset', 'page', 'cursor', ...(sort === undefined ? [] : [sort.by, sort.order])];
  const duplicate = Object.keys(filters).find((name) => taken.includes(name));
  if (duplicate !== undefined) throw new Error(`a filter has the name of another parameter: ${duplicate}`);
  const unknown = plain.find((name) => !Object.hasOwn(filters, name));
  if (unknown !== undefined) throw new Error(`a plain parameter is not a filter: ${unknown}`);
}
