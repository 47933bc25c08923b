import type { TObject } from 'typebox';
import type { JsonSchema } from './alternatives.ts';
import type { Operation, Query } from './operation.ts';

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
  const names = new Set(query.flatMap(({ schema }) => Object.keys(schema.properties)));
  const inQuery = [...names].map((name) => {
    // One that only some of the profiles need, or know at all, is needed by none.
    const required = query.every(({ schema }) => requiredOf(schema).includes(name));
    return parameter(name, 'query', together(query, name), required);
  });
  const headers = [
    ...(idempotent === true ? [REQUEST_HEADERS.idempotent] : []),
    ...(conditional === undefined ? [] : [REQUEST_HEADERS[conditional]]),
  ];
  return [...inPath, ...inQuery, ...headers.map((header) => ({ ...header, in: 'header', required: false }))];
}

/** What the profiles say of a parameter: the same, or each its own. */
function together(query: readonly Query[], name: string): JsonSchema {
  const said = query.flatMap(({ profile, schema }) => {
    const property = propertyOf(schema, name);
    return property === undefined ? [] : [{ profile, property }];
  });
  const schemas = said.map(({ property: { description: _, deprecated, default: preset, ...rest } }) =>
    // Without the parameter another profile may answer, which has no such default.
    said.length < query.length || preset === undefined ? rest : { ...rest, default: preset },
  );
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  const description = describe(said, query.length);
  return {
    ...(description === '' ? {} : { description }),
    ...(said.every(({ property }) => property.deprecated === true) ? { deprecated: true } : {}),
    ...(different.length === 1 ? different[0] : { anyOf: different }),
  };
}

/** What is said of a parameter, and by which profiles when it is not said by all of them. */
function describe(said: readonly { profile: string; property: JsonSchema }[], all: number): string {
  const profiles = new Map<string, string[]>();
  for (const { profile, property } of said) {
    const text = String(property.description ?? '');
    profiles.set(text, [...(profiles.get(text) ?? []), profile]);
  }
  const sentences = [...profiles].map(([text, names]) => {
    if (names.length === all) return text;
    return `Profile${names.length > 1 ? 's' : ''} ${names.join(', ')}${text === '' ? '.' : `: ${text}`}`;
  });
  return sentences.join(' ');
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
