import { type ErrorBody, plainBody, v2Body } from '@gatehouse/api/http/error-bodies';
import type { Operation, Shape } from '@gatehouse/api/openapi/operation';
import type { ErrorKind } from '@gatehouse/core/errors';
import { MANAGE_APPS } from '@gatehouse/tokens/scopes';
import { type TSchema, Type } from 'typebox';

/** Operations by method and path, such as `GET /api/v1/sessions/:id`. */
export type Operations = Readonly<Record<string, Operation>>;

type About = Omit<Operation, 'errors'> & {
  /** In addition to those that follow from the operation. */
  kinds?: readonly ErrorKind[];
};

/** An operation of what people manage with a token of a login or of our own dashboard. */
export function managed({ kinds = [], ...operation }: Omit<About, 'scopes'>): Operation {
  return { scopes: [MANAGE_APPS], ...operation, errors: { body: v2Body, kinds } };
}

/** An operation of /api/v1/auth, whose errors are a text. The challenge is for those that take a credential. */
export function ofAuth({ kinds = [], ...operation }: About): Operation {
  const headers = {
    unauthenticated: { 'WWW-Authenticate': 'sometimes' },
    // An account that has been closed opens by a mailed link, not by waiting.
    rate_limited: { 'Retry-After': 'sometimes' },
  } as const;
  return { ...operation, errors: { body: plainBody, kinds, headers } };
}

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

/** A shape without an example. */
export function shape(name: string, schema: TSchema, example?: unknown): Shape {
  return { name, schema, ...(example === undefined ? {} : { example }) };
}

/** A response with a body of one shape. */
export function response(description: string, ...shapes: Shape[]) {
  return { description, shapes };
}

/** `{data: [...]}` with rows of this shape. */
export function listOf(name: string, row: Shape): Shape {
  return { name, schema: Type.Object({ data: Type.Array(row.schema) }), parts: [row] };
}
