import type { JsonSchema } from './alternatives.ts';
import type { Operation, Query } from './operation.ts';

const header = (name: string, description: string, schema: JsonSchema = { type: 'string' }) => {
  return { name, description, schema, in: 'header', required: false };
};
const IDEMPOTENCY_KEY = header(
  'Idempotency-Key',
  'Makes a repetition safe, for 24 hours: of the same request, it gets the same answer, and nothing is made twice.',
  { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
);
const CONDITIONS = {
  read: header('If-None-Match', 'Versions that the caller has: one of them is answered with 304.'),
  write: header('If-Match', 'Versions of which it must be in one, or 412 is answered.'),
};

/** The parameters of an operation: those of its path and its query, and the headers that it takes. */
export function parametersOf(url: string, operation: Operation): JsonSchema[] {
  const { params, query = [], idempotent, conditional } = operation;
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const property = (params?.properties[name] ?? { type: 'string' }) as JsonSchema;
    const { description, deprecated, ...schema } = property;
    return { name, in: 'path', description, required: true, deprecated, schema };
  });
  const inQuery = new Set(query.flatMap(({ schema }) => Object.keys(schema.properties)));
  return [
    ...inPath,
    ...[...inQuery].map((name) => queryParameter(name, query)),
    ...(idempotent ? [IDEMPOTENCY_KEY] : []),
    ...(conditional ? [CONDITIONS[conditional]] : []),
  ];
}

/** A parameter as the profiles describe it: all alike, or each in its own way. */
function queryParameter(name: string, query: readonly Query[]): JsonSchema {
  const uses = query.flatMap(({ profile, schema: { properties, required } }) => {
    const property = properties[name] as JsonSchema | undefined;
    return property === undefined ? [] : [{ profile, property, required: required?.includes(name) }];
  });
  const known = uses.length === query.length;
  const schemas = uses.map(({ property: { description, deprecated, default: preset, ...schema } }) =>
    // Where it is missing, a profile may answer that does not know it, and has no such default.
    known ? { ...schema, default: preset } : schema,
  );
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  const descriptions = Map.groupBy(uses, ({ property }) => String(property.description ?? ''));
  const sentences = [...descriptions].map(([text, those]) => {
    if (those.length === query.length) return text;
    const profiles = those.map(({ profile }) => profile).join(', ');
    return `Profile${those.length > 1 ? 's' : ''} ${profiles}${text === '' ? '.' : `: ${text}`}`;
  });
  return {
    name,
    in: 'query',
    description: sentences.join(' ') || undefined,
    required: known && uses.every(({ required }) => required),
    deprecated: uses.every(({ property }) => property.deprecated === true) || undefined,
    schema: different.length === 1 ? different[0] : { anyOf: different },
  };
}
