import type { ErrorBody } from '@gatehouse/http/error-bodies';
import type { ErrorKind, ServiceError } from '@gatehouse/kit/errors';
import type { FastifySchema } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import type { AnswerHeaders } from './headers.ts';

/** What the document of a service says about the service as a whole, and where it is served. */
export type OpenApiOptions = {
  title: string;
  version: string;
  description: string;
  /** With its SPDX identifier. */
  license?: { name: string; identifier: string };
  /** Descriptions of tags, in the order in which they are shown; tags without one come after them. */
  tags?: readonly { name: string; description: string }[];
  errorExamples?: ErrorExamples;
  /** Such as `/openapi/users.json`. */
  path: string;
  /** Where the service is reached from outside: an origin, such as `https://api.example.org`. */
  origin?: string;
};

/** Errors that the service itself answers with, as the examples of their kinds. */
export type ErrorExamples = Readonly<Partial<Record<ErrorKind, ServiceError>>>;

/**
 * One of the shapes that a body or an answer may have. Its name is unique in the document, where its schema is a
 * component. `parts` are shapes that it contains unchanged, such as the rows of a list: it refers to them.
 */
export type Shape = { name: string; schema: TSchema; example?: unknown; parts?: readonly Shape[] };

/** The query parameters of one profile. */
export type Query = { profile: string; schema: TObject };

/** A successful answer. Without shapes and without a media type it has no body. */
export type DocumentedAnswer = {
  description: string;
  shapes?: readonly Shape[];
  /** Besides those that follow from the operation. */
  headers?: AnswerHeaders;
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
  /** A credential needs one of these, or any credential will do if the list is empty. Absent: none is needed. */
  scopes?: readonly string[];
  /** Parameters of the path, where there is more to say than that they are strings. */
  params?: TObject;
  /** Parameters of the query: those of all profiles together, each saying which profiles know it. */
  query?: readonly Query[];
  /** The shapes of the body, which is then required. */
  body?: readonly Shape[];
  /** Takes Idempotency-Key. */
  idempotent?: boolean;
  /** `read`: takes If-None-Match, and may answer 304. `write`: takes If-Match, and may answer 412. */
  conditional?: 'read' | 'write';
  /** By status. */
  answers: Readonly<Record<number, DocumentedAnswer>>;
  /** How errors are written, and which kinds there are besides those that follow from all of the above. */
  errors: { body: ErrorBody; kinds?: readonly ErrorKind[] };
};

declare module 'fastify' {
  interface FastifySchema {
    /** For the OpenAPI document; Fastify neither validates nor serializes by it. */
    operation?: Operation;
  }
}

/** The `schema` of a route that is in the document: `app.get(path, { schema: documented({…}) }, handler)`. */
export function documented(operation: Operation): FastifySchema {
  return { operation };
}
