import type { Static, TSchema } from 'typebox';
import type { ErrorBody } from '../http/error-bodies.ts';
import { bodyValidator, closed, serializer } from '../http/schema.ts';
import type { ListRules } from '../lists/list-request.ts';
import type { Envelope } from '../lists/paging.ts';

/** The types of a resource: the aggregate, the fields of its lists, and the input of creations and changes. */
export type ResourceTypes = {
  /** `minorVersion` is that of its entity tag (see etagOf). */
  entity: { id: string; version: number; minorVersion?: number };
  field: string;
  draft: object;
  changes: object;
};

/**
 * An API profile: one of the forms in which a resource is served. It defines how requests are read and answers written;
 * mountResource turns it into routes. An absent operation is not served.
 */
export type Profile<R extends ResourceTypes> = {
  name: string;
  /** A description of its differences, for the OpenAPI document; follows its name. */
  about: string;
  errorBody: ErrorBody;
  list?: ListProfile<R>;
  create?: {
    body: RequestBody<R['draft']>;
    response: View<R['entity']>;
    /** Whether a body is unmistakably of this profile, where several share a path. */
    matches?(body: object): boolean;
  };
  read?: View<R['entity']>;
  update?: { method: 'PUT' | 'PATCH'; body: RequestBody<R['changes']>; response: View<R['entity']> };
  remove?: true;
};

/** A list: its parameters, its envelope, and the view of each row. */
export type ListProfile<R extends ResourceTypes> = {
  rules: Omit<ListRules<R['field']>, 'path'>;
  envelope: Envelope;
  item: View<R['entity']>;
};

/** How an entity is written. The name is unique in the OpenAPI document. Fields that are not in the schema are dropped. */
export type View<T> = {
  name: string;
  schema: TSchema;
  show(entity: T): unknown;
  write(entity: T): string;
  /** The properties of the entity that it shows; lists read no others. */
  properties?: readonly string[];
};

/** How the body of a request is read. The name is unique in the OpenAPI document; `read` throws `invalid`. */
export type RequestBody<T> = {
  name: string;
  schema: TSchema;
  example: unknown;
  read(input: unknown): T;
  /** The field that `read` gets as a JsonText. */
  verbatim?: string;
};

/** A view that is written by its schema. `show` gets the `properties`, without them the whole entity. */
export function view<T extends object, S extends TSchema, P extends keyof T & string = keyof T & string>(
  name: string,
  schema: S,
  show: (entity: Pick<T, P>) => Static<S>,
  properties?: readonly P[],
): View<T> {
  const write = serializer(schema);
  const about = { name, schema, show, write: (entity: T) => write(show(entity)) };
  return properties === undefined ? about : { ...about, properties };
}

/** A body that is validated against a schema, and converted to the input of the use case. */
export function requestBody<S extends TSchema, T>(
  name: string,
  open: S,
  options: { example: Static<S>; read: (body: Static<S>) => T; verbatim?: string },
): RequestBody<T> {
  const schema = closed(open);
  const validate = bodyValidator(schema);
  return { ...options, name, schema, read: (input) => options.read(validate(input)) };
}
