import type { ErrorBody } from '@gatehouse/api/http/error-bodies';
import type { DocumentedResponse, Operation, Shape } from '@gatehouse/api/openapi/operation';
import type { ErrorKind } from '@gatehouse/core/errors';
import { type TSchema, Type } from 'typebox';

/** Operations by method and path, such as `GET /api/v1/sessions/:id`. */
export type Operations = Readonly<Record<string, Operation>>;

/** The schema of `{error, error_description}` (RFC 6749 §5.2), under a name. */
export function oauthErrorBody(title: string, codes: Partial<Record<ErrorKind, string>>): ErrorBody {
  return {
    write: ({ kind, message }) => ({ error: codes[kind] ?? 'invalid_request', error_description: message }),
    schema: Type.Object(
      { error: Type.String({ description: 'A code.' }), error_description: Type.String() },
      { title, additionalProperties: false },
    ),
  };
}

/** A shape whose schema says the type. */
export type TypedShape<S extends TSchema> = Omit<Shape, 'schema'> & { schema: S };

/** A shape, with an example of it or without. */
export function shape<S extends TSchema>(name: string, schema: S, example?: unknown): TypedShape<S> {
  return { name, schema, ...(example === undefined ? {} : { example }) };
}

/** A response with a body of one shape. */
export function response(description: string, ...shapes: Shape[]): DocumentedResponse {
  return { description, shapes };
}

/** The response of an operation that returns something, by its status. */
export function ok(description: string, body: Shape): Operation['responses'] {
  return { 200: response(description, body) };
}

/** The response of an operation that has made something, whose path is in the Location header. */
export function created(description: string, body: Shape): Operation['responses'] {
  return { 201: { ...response(description, body), headers: { Location: 'always' } } };
}

/** The response of an operation that returns nothing. */
export function done(description: string): Operation['responses'] {
  return { 204: { description } };
}

/** `{data: [...]}` with rows of this shape. */
export function listOf(name: string, row: Shape): Shape {
  return { name, schema: Type.Object({ data: Type.Array(row.schema) }), parts: [row] };
}
