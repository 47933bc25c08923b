import type { TObject } from 'typebox';
import type { Operation } from './openapi.ts';
import type { JsonSchema } from './shapes.ts';

/** Headers of requests, each with what it takes. */
const REQUEST_HEADERS = {
  idempotent: {
    name: 'Idempotency-Key',
    description:
      'Makes a repetition safe, for 24 hours: of the same request, it gets the same answer, and nothing is made twice.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  },
  read: {
    name: 'If-None-Match',
    description: 'Versions that the caller has: one of them is answered with 304.',
    schema: { type: 'string' },
  },
  write: {
    name: 'If-Match',
    description: 'Versions of which it must be in one, or 412 is answered.',
    schema: { type: 'string' },
  },
} as const;

/** The parameters of an operation: of its path, of its query, and the headers that it takes. */
export function parametersOf(url: string, operation: Operation): JsonSchema[] {
  const { params, query = [], idempotent, conditional } = operation;
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) =>
    parameter(name, 'path', propertyOf(params, name) ?? { type: 'string' }, true),
  );
  const names = new Set(query.flatMap(({ properties }) => Object.keys(properties)));
  const inQuery = [...names].map((name) => {
    // One that only some of the profiles need, or know at all, is needed by none.
    const required = query.every((one) => requiredOf(one).includes(name));
    return parameter(name, 'query', together(query, name), required);
  });
  const headers = [
    ...(idempotent === true ? [REQUEST_HEADERS.idempotent] : []),
    ...(conditional === undefined ? [] : [REQUEST_HEADERS[conditional]]),
  ];
  return [...inPath, ...inQuery, ...headers.map((header) => ({ ...header, in: 'header', required: false }))];
}

/** What the profiles say of a parameter: the same, or each its own. */
function together(query: readonly TObject[], name: string): JsonSchema {
  const said = query.map((one) => propertyOf(one, name)).filter((schema) => schema !== undefined);
  const schemas = [...new Map(said.map((schema) => [JSON.stringify(schema), schema])).values()];
  const [first = {}] = schemas;
  return schemas.length === 1 ? first : { description: first.description, anyOf: schemas };
}

function propertyOf(schema: TObject | undefined, name: string): JsonSchema | undefined {
  return schema?.properties[name] as JsonSchema | undefined;
}

function requiredOf(schema: TObject): readonly string[] {
  return (schema.required ?? []) as readonly string[];
}

function parameter(name: string, place: 'path' | 'query', schema: JsonSchema, required: boolean): JsonSchema {
  const { description, deprecated, ...rest } = schema;
  return {
    name,
    in: place,
    ...(description === undefined ? {} : { description }),
    required,
    ...(deprecated === true ? { deprecated } : {}),
    schema: rest,
  };
}
