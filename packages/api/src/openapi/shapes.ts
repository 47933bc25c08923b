import { type TSchema, Type } from 'typebox';
import type { DocumentedResponse, Operation, Shape } from './operation.ts';

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
