import { type TObject, type TSchema, Type } from 'typebox';
import type { FilterRules } from './filter-conditions.ts';
import { filterPattern, plainLimits } from './filter-patterns.ts';
import { type FilterField, operatorsOf } from './filters.ts';
import type { ListRules } from './list-request.ts';
import { MAX_OFFSET, PAGE_SIZE } from './paging.ts';

/** The schema of every parameter of a list, for OpenAPI. The reader of queries checks more than a schema can. */
export function listQuerySchema(rules: ListRules<string>): TObject {
  const { sort, paging, required = [] } = rules;
  const properties: Record<string, TSchema> = {
    limit: Type.Integer({
      minimum: 1,
      maximum: PAGE_SIZE.max,
      default: PAGE_SIZE.default,
      description: 'The maximum number of rows in the page. May change from page to page.',
    }),
    ...(paging === 'offset' ? { offset: OFFSET } : paging === 'page' ? { page: PAGE } : {}),
    cursor: CURSOR,
    ...(sort === undefined ? {} : sortParameters(sort)),
    ...filterParameters(rules),
  };
  const all = Object.entries(properties).map(([name, schema]) => [
    name,
    required.includes(name) ? schema : Type.Optional(schema),
  ]);
  return Type.Object(Object.fromEntries(all));
}

const OFFSET = Type.Integer({
  minimum: 0,
  maximum: MAX_OFFSET,
  default: 0,
  description: 'The number of rows to skip. Beyond the maximum, use a cursor.',
});
const PAGE = Type.Integer({
  minimum: 1,
  maximum: MAX_OFFSET + 1,
  default: 1,
  description: `The number of the page. (page - 1) * limit is at most ${MAX_OFFSET}; beyond that, use a cursor.`,
});
const CURSOR = Type.String({
  description:
    'Asks for the cursor envelope. Empty for the first page, then as in links.next or links.prev. ' +
    'Must be sent with the filters and the sort of those links, and without offset or page.',
});

function sortParameters({ fields, by, order }: NonNullable<ListRules<string>['sort']>) {
  return {
    [by]: Type.String({
      enum: Object.keys(fields),
      description: 'The field to sort by. The default is the field of a range filter, else id.',
    }),
    [order]: Type.String({
      enum: ['asc', 'desc'],
      default: 'asc',
      description: 'The direction of the sort.',
    }),
  };
}

function filterParameters(rules: FilterRules<string>): Record<string, TSchema> {
  const { filters, plain = [], legacy = false } = rules;
  const parameters: Record<string, TSchema> = {};
  for (const [name, field] of Object.entries(filters)) {
    if (operatorsOf(field).includes('eq')) {
      parameters[`filter[${name}]`] = Type.String({
        description: describe(name, field),
        pattern: filterPattern(field, true),
      });
    }
    // The most used operators, so that generated clients know them.
    for (const [operator, words] of field.type === 'date' ? RANGES : []) {
      parameters[`filter[${name}][${operator}]`] = Type.String({
        description: `Only rows whose ${name} is ${words}. ${VALUES.date}.`,
        pattern: filterPattern(field, false),
      });
    }
    if (plain.includes(name)) {
      const about = field.type === 'search' ? `${VALUES.search}.` : `Only rows with this ${name}.`;
      parameters[name] = plainSchema(field, about);
    } else if (legacy) {
      const description = `Deprecated: write filter[${name}] instead. One value.`;
      parameters[name] = { ...plainSchema(field, description), deprecated: true };
    }
  }
  return parameters;
}

function plainSchema(field: FilterField<string>, description: string): TSchema {
  const { type, values } = field;
  if (values !== undefined) return Type.String({ enum: [...values], description });
  const about = { ...plainLimits(field), description };
  if (type === 'integer') return Type.Integer(about);
  if (type === 'number') return Type.Number(about);
  if (type === 'boolean') return Type.Boolean(about);
  return Type.String(about);
}

function describe(name: string, field: FilterField<string>): string {
  const values = field.values === undefined ? VALUES[field.type] : `One of ${field.values.join(', ')}`;
  const others = operatorsOf(field).filter((operator) => operator !== 'eq');
  return (
    `${values}. Several values, separated by commas, match any of them. ` +
    `Other operators, as filter[${name}][operator]: ${others.join(', ')}.`
  );
}

const RANGES = [
  ['gt', 'after this'],
  ['gte', 'this or later'],
  ['lt', 'before this'],
  ['lte', 'this or earlier'],
] as const;

const VALUES: Record<FilterField<string>['type'], string> = {
  string: 'A string',
  date: 'A day in UTC, which a range includes or excludes as a whole, or a date and time (RFC 3339), such as 2025-07-10 or 2025-07-10T12:00:00Z',
  integer: 'A whole number',
  number: 'A number such as 12 or 12.50',
  search: 'Words that must all be found, the last one as the beginning of a word',
  boolean: 'true or false',
};
