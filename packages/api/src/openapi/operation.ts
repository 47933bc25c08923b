import type { ErrorKind, ServiceError } from '@gatehouse/core/errors';
import type { FastifySchema } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import type { ErrorBody } from '../http/error-bodies.ts';
import type { ResponseHeaders } from './headers.ts';

/** The document's information about the service as a whole, and the path of the document. */
export type OpenApiOptions = {
  title: string;
  version: string;
  /** The release of Gatehouse. */
  'x-gatehouse-version'?: string;
  description: string;
  /** With its SPDX identifier. */
  license?: { name: string; identifier: string };
  /** Descriptions of tags, in order; tags without a description follow. */
  tags?: readonly { name: string; description: string }[];
  errorExamples?: ErrorExamples;
  /** Such as `/openapi/users.json`. */
  path: string;
  /** The public origin of the service, such as `https://api.example.org`. */
  origin?: string;
};

/** The service's own errors, as the examples of their kinds. */
export type ErrorExamples = Readonly<Partial<Record<ErrorKind, ServiceError>>>;

/**
 * One of the possible shapes of a body or a response. Its schema is a component of the document with this unique name.
 * `parts` are shapes that it contains unchanged, such as the rows of a list, and refers to.
 */
export type Shape = { name: string; schema: TSchema; example?: unknown; parts?: readonly Shape[] };

/** The query parameters of one profile. */
export type Query = { profile: string; schema: TObject };

/** A response. Without shapes and without a media type it has no body. */
export type DocumentedResponse = {
  description: string;
  /** The shapes of a JSON body; beside a media type, of the JSON body that programs get instead. */
  shapes?: readonly Shape[];
  /** The media type of the shapes, where it is a JSON type of its own, such as application/jwk-set+json. */
  jsonType?: string;
  /** In addition to those that follow from the operation. */
  headers?: ResponseHeaders;
  /** The media type of a body that is not JSON, such as text/markdown. */
  mediaType?: string;
};

/** The document's description of a route. */
export type Operation = {
  /** Unique in the document. */
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  /** Any one of these scopes is required. An empty list means any credential, undefined no credential. */
  scopes?: readonly string[];
  /** The query parameters of each profile; the document has their union. */
  query?: readonly Query[];
  /** The shapes of the body, which is required if there are any. */
  body?: readonly Shape[];
  /** Takes a body of application/x-ndjson, too: each line is such a `body`, and is answered with a line, with 200. */
  lines?: { description: string; body: Shape; response: Shape };
  /** The media types in which the body may be sent; JSON by default. */
  bodyTypes?: readonly string[];
  /** Applications authenticate as at the token endpoint (RFC 6749 §2.3), instead of by a scope. */
  clientAuthentication?: boolean;
  /** Supports Idempotency-Key. */
  idempotent?: boolean;
  /** `read` supports If-None-Match (304), `write` supports If-Match (412). */
  conditional?: 'read' | 'write';
  /** By status. */
  responses: Readonly<Record<number, DocumentedResponse>>;
  /**
   * The form of errors, and the kinds of errors in addition to those that follow from the fields above. If `answers` has the status of a
   * kind, it is the response for that kind. `headers` replace the usual headers of these kinds.
   */
  errors: {
    body: ErrorBody;
    kinds?: readonly ErrorKind[];
    headers?: Partial<Record<ErrorKind, ResponseHeaders>>;
  };
};

declare module 'fastify' {
  interface FastifySchema {
    /** For the OpenAPI document only; Fastify does not use it. */
    operation?: Operation;
  }
}

/** The `schema` of a documented route: `app.get(path, { schema: documented({…}) }, handler)`. */
export function documented(operation: Operation): FastifySchema {
  return { operation };
}
