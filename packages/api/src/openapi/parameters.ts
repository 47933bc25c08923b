import type { JsonSchema } from './alternatives.ts';
import type { Operation, Query } from './operation.ts';

const header = (name: string, description: string, schema: JsonSchema = { type: 'string' }) => {
  return { name, description, schema, in: 'header', required: false };
};
const IDEMPOTENCY_KEY = header(
  'Idempotency-Key',
  'Makes retries safe for 24 hours: the same request with the same key gets the same response and creates nothing twice.',
  { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
);
const CONDITIONS = {
  read: header(
    'If-None-Match',
    'The versions that the client has stored. If the current one is among them, the response is 304.',
  ),
  write: header(
    'If-Match',
    'The versions to which the change applies. If the current one is not among them, the response is 412.',
  ),
};

/** The parameters of an operation: in its path, its query and its headers. */
export function parametersOf(url: string, operation: Operation): JsonSchema[] {
  const { query = [], idempotent, conditional } = operation;
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  const inQuery = new Set(query.flatMap(({ schema }) => Object.keys(schema.properties)));
  return [
    ...inPath,
    ...[...inQuery].map((name) => queryParameter(name, query)),
    ...(idempotent ? [IDEMPOTENCY_KEY] : []),
    ...(conditional ? [CONDITIONS[conditional]] : []),
  ];
}

/** A query parameter, with the descriptions and schemas of the profiles that have it. */
function queryParameter(name: string, query: readonly Query[]): JsonSchema {
  const uses = query.flatMap(({ profile, schema: { properties, required } }) => {
    const property = properties[name] as JsonSchema | undefined;
    return property === undefined ? [] : [{ profile, property, required: required?.includes(name) }];
  });
  const isCommon = uses.length === query.length;
  const schemas = uses.map(({ property: { description, deprecated, default: preset, ...schema } }) =>
    // No default if some profile lacks the parameter: without the parameter, that profile may apply.
    isCommon ? { ...schema, default: preset } : schema,
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
    required: isCommon && uses.every(({ required }) => required),
    deprecated: uses.every(({ property }) => property.deprecated === true) || undefined,
    schema: different.length === 1 ? different[0] : { anyOf: different },
  };
}
