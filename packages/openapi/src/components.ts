import type { ErrorBody } from '@gatehouse/http/error-bodies';
import type { ErrorKind } from '@gatehouse/kit/errors';
import type { JsonSchema } from './alternatives.ts';
import { ERRORS, exampleOf } from './errors.ts';
import type { AnswerHeader, ErrorExamples, Shape } from './operation.ts';

/** The media type of bodies. */
export const JSON_TYPE = 'application/json';

const HEADERS: Record<
  | AnswerHeader
  | 'X-Request-Id'
  | 'Idempotency-Replayed'
  | 'Retry-After'
  | 'RateLimit'
  | 'RateLimit-Policy'
  | 'WWW-Authenticate',
  string
> = {
  ETag: 'The version, for If-Match and If-None-Match.',
  Location: 'Where it is found.',
  Link: 'Further addresses (RFC 8288): `next` is the next page, `deprecation` a guide.',
  Deprecation: 'Since when the way it was asked for is deprecated (RFC 9745).',
  Sunset: 'Until when the way it was asked for works (RFC 8594).',
  'Cache-Control': 'How long it may be kept.',
  'X-Request-Id': 'The id of the request in our logs; one that is sent along is kept.',
  'Idempotency-Replayed': '`true` when it is the answer of an earlier attempt.',
  'Retry-After': 'In how many seconds to try again.',
  RateLimit: 'How many requests are left, and for how long.',
  'RateLimit-Policy': 'How many requests are allowed in how many seconds.',
  'WWW-Authenticate': 'Which credential is missing (RFC 6750).',
};

export type Components = ReturnType<typeof createComponents>;

/** What operations share, written once. */
export function createComponents(errorExamples?: ErrorExamples) {
  const schemas: Record<string, JsonSchema> = {};
  const responses: Record<string, unknown> = {};
  const schema = (shape: Shape): JsonSchema => {
    const { name, parts = [] } = shape;
    const refs = parts.map((part) => [JSON.stringify(part.schema), schema(part)] as const);
    const written = withParts(shape, new Map(refs));
    const known = schemas[name];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(written)) {
      throw new Error(`two schemas have the name ${name}`);
    }
    schemas[name] = written;
    return { $ref: `#/components/schemas/${name}` };
  };
  const header = (name: keyof typeof HEADERS, required: boolean) => ({
    description: HEADERS[name],
    required,
    schema: { type: 'string' },
  });
  const limits = () => ({
    RateLimit: header('RateLimit', false),
    'RateLimit-Policy': header('RateLimit-Policy', false),
  });
  return {
    schema,
    header,
    limits,
    error(body: ErrorBody, kind: ErrorKind, scopes?: readonly string[]) {
      const { title } = body.schema as { title?: string };
      if (title === undefined) throw new Error('the schema of an error has no title');
      const example = exampleOf(kind, scopes, errorExamples);
      // What is said of missing scopes names them.
      const about = kind === 'forbidden' && scopes !== undefined ? scopes : [];
      const name = [title, kind, ...about].join('_').replaceAll(':', '_');
      const retry = { 'Retry-After': header('Retry-After', kind === 'rate_limited') };
      responses[name] = {
        description: ERRORS[kind].description,
        headers: {
          'X-Request-Id': header('X-Request-Id', true),
          ...limits(),
          ...(['conflict', 'rate_limited', 'unavailable'].includes(kind) ? retry : {}),
          ...(kind === 'unauthenticated' ? { 'WWW-Authenticate': header('WWW-Authenticate', true) } : {}),
        },
        content: {
          [JSON_TYPE]: {
            schema: schema({ name: title, schema: body.schema }),
            example: body.write(example),
          },
        },
      };
      return { $ref: `#/components/responses/${name}` };
    },
    written: () => ({ schemas, responses }),
  };
}

/** A schema that refers to its parts, which are found by how they are written. */
function withParts({ name, schema }: Shape, refs: ReadonlyMap<string, JsonSchema>): JsonSchema {
  const found = new Set<string>();
  const written = JSON.parse(JSON.stringify(schema), (_key, value) => {
    const text = JSON.stringify(value);
    const ref = refs.get(text);
    if (ref !== undefined) found.add(text);
    return ref ?? value;
  });
  if (found.size < refs.size) throw new Error(`${name} has not all of its parts`);
  return written;
}
