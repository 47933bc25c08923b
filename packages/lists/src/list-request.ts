import { invalidFields } from '@gatehouse/http/schema';
import type { Condition, FilterOperator, ListQuery } from '@gatehouse/kit/list-query';
import { type TObject, type TSchema, Type } from 'typebox';
import { type Cursor, decodeCursor, listHash } from './cursor.ts';
import { type FilterRules, filterParameters, readConditions } from './filter-parameters.ts';
import { type FilterFields, own } from './filters.ts';
import { MAX_OFFSET, PAGE_SIZE } from './paging.ts';
import { type Parameters, parametersOf } from './parameters.ts';

/** What a list may be asked for. F are the names of its fields inside. */
export type ListRules<F extends string> = FilterRules<F> & {
  /** For links, such as '/v1/users'. */
  path: string;
  /**
   * Sort fields by their name outside, and the parameters' names. Without: sorted by the first field of `filters` that
   * a range is asked of, else by id, ascending.
   */
  sort?: { fields: Readonly<Record<string, F>>; by: string; order: string };
  /** How pages are counted without a cursor, as far as it is told. */
  paging: 'offset' | 'page' | 'cursor';
};

export type ListRequest<F extends string> = ListQuery<F> & {
  limit: number;
  page: { kind: 'offset'; offset: number } | { kind: 'cursor'; cursor: Cursor | undefined };
  /** Whether a filter was given in its deprecated form. */
  deprecated: boolean;
  /** The parameters that links repeat, as they were given: filters, sort and limit. */
  kept: [name: string, value: string][];
};

const RANGES: readonly FilterOperator[] = ['gt', 'gte', 'lt', 'lte'];
const BY_CURSOR = 'go on with the cursor parameter';
/** More than anybody reads. */
const MAX_PROBLEMS = 20;

/** Reads the query of a list. The result throws `invalid` with the parameters at fault. */
export function listReader<F extends string>(rules: ListRules<F>): (query: unknown) => ListRequest<F> {
  checkNames(rules);
  return (query) => {
    const parameters = parametersOf(query);
    const { conditions, deprecated, kept } = readConditions(parameters, rules);
    const sort = readSort(parameters, rules, conditions);
    const limit = parameters.integer('limit', 1, PAGE_SIZE.max) ?? PAGE_SIZE.default;
    const page = readPage(parameters, rules, { conditions, sort }, limit);
    if (parameters.problems.length > 0) throw invalidFields(parameters.problems.slice(0, MAX_PROBLEMS));
    for (const name of [rules.sort?.by, rules.sort?.order, 'limit']) {
      const text = name === undefined ? undefined : parameters.text(name);
      if (name !== undefined && text !== undefined) kept.push([name, text]);
    }
    return { conditions, sort, limit, page, deprecated, kept };
  };
}

/**
 * Every parameter that the rules read, for the description of the interface. The reader checks more than a schema
 * can say.
 */
export function listQuerySchema(rules: ListRules<string>): TObject {
  const { sort, paging } = rules;
  const properties: Record<string, TSchema> = {
    limit: Type.Integer({
      minimum: 1,
      maximum: PAGE_SIZE.max,
      default: PAGE_SIZE.default,
      description: 'Most rows of a page. May change from page to page.',
    }),
    ...(paging === 'offset' ? { offset: OFFSET } : paging === 'page' ? { page: PAGE } : {}),
    cursor: CURSOR,
    ...(sort === undefined ? {} : sortParameters(sort)),
    ...filterParameters(rules),
  };
  const optional = Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)]);
  return Type.Object(Object.fromEntries(optional));
}

const OFFSET = Type.Integer({
  minimum: 0,
  maximum: MAX_OFFSET,
  default: 0,
  description: 'Rows to leave out at the beginning. Farther down the list, go on by cursor.',
});
const PAGE = Type.Integer({
  minimum: 1,
  default: 1,
  description: `The page's number. (page - 1) * limit is at most ${MAX_OFFSET}; farther down, go on by cursor.`,
});
const CURSOR = Type.String({
  description:
    'Asks for the cursor envelope. Empty for the first page, then as it stands in links.next or links.prev. ' +
    'Goes with the filters and the sort of those links, and never with offset or page.',
});

function sortParameters({ fields, by, order }: NonNullable<ListRules<string>['sort']>) {
  return {
    [by]: Type.String({
      enum: Object.keys(fields),
      description: 'What the rows are sorted by; without it by the field of a range filter, else by id.',
    }),
    [order]: Type.String({
      enum: ['asc', 'desc'],
      default: 'asc',
      description: 'The direction of the sort.',
    }),
  };
}

function readSort<F extends string>(
  parameters: Parameters,
  { sort, filters }: ListRules<F>,
  conditions: readonly Condition<F>[],
): ListQuery<F>['sort'] {
  // A range comes in the order of its field, so that the index that finds it is the one that sorts it. Every list has
  // an id to be sorted by, whether or not it is told.
  const ranges = conditions.filter(({ operator }) => RANGES.includes(operator)).map(({ field }) => field);
  const range = Object.values(filters).find(({ field }) => ranges.includes(field));
  const byDefault = { field: range?.field ?? ('id' as F), descending: false };
  if (sort === undefined) return byDefault;
  const name = parameters.text(sort.by);
  const field = name === undefined ? byDefault.field : own(sort.fields, name);
  if (field === undefined) {
    parameters.problem(sort.by, `must be one of ${Object.keys(sort.fields).join(', ')}`);
  }
  const order = parameters.text(sort.order) ?? 'asc';
  if (order !== 'asc' && order !== 'desc') parameters.problem(sort.order, 'must be asc or desc');
  return { field: field ?? byDefault.field, descending: order === 'desc' };
}

function readPage<F extends string>(
  parameters: Parameters,
  { filters, paging }: ListRules<F>,
  list: ListQuery<F>,
  limit: number,
): ListRequest<F>['page'] {
  if (parameters.has('cursor') || paging === 'cursor') {
    const other = ['offset', 'page'].find(parameters.has);
    if (other !== undefined && parameters.has('cursor')) {
      parameters.problem('cursor', `cannot be given together with ${other}`);
    } else if (other !== undefined) {
      parameters.problem(other, 'is not a parameter of this list, which is paged by cursor');
    }
    return { kind: 'cursor', cursor: readCursor(parameters, filters, list) };
  }
  if (parameters.has('offset') && parameters.has('page')) {
    parameters.problem('page', 'cannot be given together with offset');
  }
  // Every list reads both: who counts the other way gets the rows asked for, and not the first ones again and again.
  const offset = parameters.integer('offset', 0, MAX_OFFSET, BY_CURSOR);
  const last = Math.floor(MAX_OFFSET / limit) + 1;
  const number = parameters.integer('page', 1, last, BY_CURSOR) ?? 1;
  return { kind: 'offset', offset: offset ?? (number - 1) * limit };
}

function readCursor<F extends string>(
  parameters: Parameters,
  filters: FilterFields<F>,
  list: ListQuery<F>,
): Cursor | undefined {
  const text = parameters.text('cursor');
  // Empty means the first page.
  if (text === undefined || text === '') return undefined;
  const cursor = decodeCursor(text);
  if (cursor === undefined || !isValueOf(cursor.position.value, list.sort.field, filters)) {
    parameters.problem('cursor', 'is not one of a link of this list');
  } else if (cursor.hash !== listHash(list)) {
    parameters.problem('cursor', 'belongs to a list with other filters or another sort');
  }
  return cursor;
}

/** Whether the sorted field can have this value in a cursor; the field's type is known when it is a filter, too. */
function isValueOf(value: Cursor['position']['value'], sortField: string, filters: FilterFields<string>) {
  if (sortField === 'id' || value === null) return value === null;
  const type = Object.values(filters).find(({ field }) => field === sortField)?.type;
  switch (type) {
    case 'date':
      return typeof value === 'number' && Math.abs(value) <= 8.64e15;
    case 'integer':
      return typeof value === 'number';
    case undefined:
      return true;
    default:
      return typeof value === type;
  }
}

/** One name has one meaning. */
function checkNames({ filters, plain = [], sort }: ListRules<string>): void {
  const taken = ['limit', 'offset', 'page', 'cursor', ...(sort === undefined ? [] : [sort.by, sort.order])];
  const twice = Object.keys(filters).find((name) => taken.includes(name));
  if (twice !== undefined) throw new Error(`a filter is named like a parameter of the list: ${twice}`);
  const unknown = plain.find((name) => !Object.hasOwn(filters, name));
  if (unknown !== undefined) throw new Error(`a plain parameter is no filter: ${unknown}`);
}
