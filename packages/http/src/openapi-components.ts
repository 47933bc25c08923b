import type { ErrorKind } from '@gatehouse/kit/errors';
import type { ErrorBody } from './error-bodies.ts';
import type { AnswerHeader, Shape } from './openapi.ts';
import { ERRORS, exampleOf } from './openapi-errors.ts';
import type { JsonSchema } from './shapes.ts';

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
export function createComponents() {
  const schemas: Record<string, JsonSchema> = {};
  const responses: Record<string, unknown> = {};
  const schema = ({ name, schema: given }: Shape): JsonSchema => {
    const known = schemas[name];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(given)) {
      throw new Error(`two schemas have the name ${name}`);
    }
    schemas[name] = given as JsonSchema;
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
    error(body: ErrorBody, kind: ErrorKind) {
      const { title } = body.schema as { title?: string };
      if (title === undefined) throw new Error('the schema of an error has no title');
      const name = `${title}_${kind}`;
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
            example: body.write(exampleOf(kind)),
          },
        },
      };
      return { $ref: `#/components/responses/${name}` };
    },
    written: () => ({ schemas, responses }),
  };
}
