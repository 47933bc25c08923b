import type { ErrorBody } from '@gatehouse/http/error-bodies';
import type { ErrorKind, ServiceError } from '@gatehouse/kit/errors';
import type { FastifySchema } from 'fastify';
import type { TObject, TSchema } from 'typebox';

/** What the document of a service says about itself, and where it is served. */
export type OpenApiOptions = {
  title: string;
  version: string;
  description: string;
  /** The identifier is the one of SPDX. */
  license?: { name: string; identifier: string };
  /** What is said of tags, in the order in which they stand; tags that it does not name come after them. */
  tags?: readonly { name: string; description: string }[];
  /** Errors that the service itself answers with, as examples of their kinds. */
  errorExamples?: ErrorExamples;
  /** Such as `/openapi/users.json`. */
  path: string;
  /** Where the service is reached from outside: an origin, such as `https://api.example.org`. */
  origin?: string;
};

/** Errors by their kinds, for kinds of which there is more to say than what holds for every service. */
export type ErrorExamples = Readonly<Partial<Record<ErrorKind, ServiceError>>>;

/**
 * One of the shapes that a body or an answer may have. Its name is unique in the document: the schema stands under it
 * in the components, so that several operations can share it. `parts` are shapes that stand in it as they are, such
 * as the rows of a list: there it refers to them.
 */
export type Shape = { name: string; schema: TSchema; example?: unknown; parts?: readonly Shape[] };

/** What the query of one profile may hold, by the profile's name. */
export type Query = { profile: string; schema: TObject };

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
  /** Parameters of the query; those of several profiles are put together, and say whose they are. */
  query?: readonly Query[];
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
