import type { ErrorKind } from '@gatehouse/kit/errors';
import type { FastifySchema } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import type { ErrorBody } from './error-bodies.ts';

/** What the document of a service says about itself, and where it is served. */
export type OpenApiOptions = {
  title: string;
  version: string;
  description: string;
  /** Such as `/openapi/users.json`. */
  path: string;
  /** Where the service is reached from outside: an origin, such as `https://api.example.org`. */
  origin?: string;
};

/**
 * One of the shapes that a body or an answer may have. Its name is unique in the document: the schema stands under it
 * in the components, so that several operations can share it.
 */
export type Shape = { name: string; schema: TSchema; example?: unknown };

/** Headers of answers that operations speak of; those that any answer may have come by themselves. */
export type AnswerHeader = 'ETag' | 'Location' | 'Link' | 'Deprecation' | 'Sunset' | 'Cache-Control';

/** One successful answer. Without shapes and without a media type it has no body. */
export type DocumentedAnswer = {
  description: string;
  shapes?: readonly Shape[];
  headers?: Partial<Record<AnswerHeader, 'always' | 'sometimes'>>;
  /** Of a body that is not JSON, such as text/markdown. */
  mediaType?: string;
};

/** What the document says about a route. */
export type Operation = {
  /** Unique in the document. */
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  /** Any one of these is needed; none of them when the list is empty. Absent: not even a credential is. */
  scopes?: readonly string[];
  /** Parameters of the path, where there is more to say than that they are texts. */
  params?: TObject;
  /** Parameters of the query; those of several profiles are put together. */
  query?: readonly TObject[];
  /** The shapes of the body, which is needed when there are any. */
  body?: readonly Shape[];
  /** Takes Idempotency-Key. */
  idempotent?: boolean;
  /** `read`: takes If-None-Match, and may answer 304. `write`: takes If-Match, and may answer 412. */
  conditional?: 'read' | 'write';
  /** By status. */
  answers: Readonly<Record<number, DocumentedAnswer>>;
  /** How errors are written, and the kinds that there are beside those that follow from all the above. */
  errors: { body: ErrorBody; kinds?: readonly ErrorKind[] };
};

declare module 'fastify' {
  interface FastifySchema {
    /** What the OpenAPI document says; Fastify neither validates nor serializes by it. */
    operation?: Operation;
  }
}

/** The `schema` of a route that stands in the document: `app.get(path, { schema: documented({…}) }, handler)`. */
export function documented(operation: Operation): FastifySchema {
  return { operation };
}
