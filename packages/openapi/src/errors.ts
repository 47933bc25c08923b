import { type ErrorKind, ServiceError, STATUS_OF_KIND } from '@gatehouse/kit/errors';
import type { ErrorExamples, Operation } from './operation.ts';

/** What the document says of each kind of error: in general, and as an example a sentence that is really given. */
export const ERRORS: Record<ErrorKind, { description: string; message: string }> = {
  invalid: {
    description: 'The request is malformed, or a field of it is not valid.',
    message: 'The body is not valid JSON.',
  },
  unauthenticated: {
    description: 'There is no valid credential.',
    message: 'This needs an access token or an API key in the Authorization header.',
  },
  forbidden: {
    description: 'The credential is valid, and is not permitted to do this.',
    message: 'You are not permitted to do this.',
  },
  not_found: { description: 'There is no such thing.', message: 'There is nothing here.' },
  method_not_allowed: {
    description: 'The path does not take this method.',
    message: 'This path takes GET, HEAD.',
  },
  conflict: {
    description: 'It is in the way of what is there already, or of a request that is still running.',
    message: 'A request with this Idempotency-Key is still running.',
  },
  precondition_failed: {
    description: 'It is not in the version that If-Match names.',
    message: 'It was changed in the meantime.',
  },
  too_large: {
    description: 'The body is too large.',
    message: 'The body is larger than 262144 bytes.',
  },
  unsupported_media_type: {
    description: 'The body is not JSON.',
    message: 'The body must be sent as application/json.',
  },
  idempotency_key_reused: {
    description: 'The Idempotency-Key belongs to a request with another body.',
    message: 'This Idempotency-Key was used with another body.',
  },
  rate_limited: {
    description: 'Too many requests: Retry-After says when to go on.',
    message: 'Too many requests: try again in 30 s.',
  },
  internal: {
    description: 'Something went wrong on the server.',
    message: 'Something went wrong on our side. Request id: req_01.',
  },
  unavailable: {
    description: 'Something that the service needs is away: try again.',
    message: 'The database cannot be reached just now.',
  },
};

/** The kinds of errors that an operation may answer with, by their status. */
export function errorKindsOf(operation: Operation, method: string): ErrorKind[] {
  const { scopes, query, conditional, idempotent } = operation;
  const kinds = new Set<ErrorKind>(['internal', ...(operation.errors.kinds ?? [])]);
  const add = (...more: ErrorKind[]) => {
    for (const kind of more) kinds.add(kind);
  };
  if (scopes !== undefined) add('unauthenticated', 'forbidden', 'rate_limited', 'unavailable');
  if (query !== undefined) add('invalid');
  // Also of a DELETE, a body that is sent is read.
  if (method !== 'GET') add('invalid', 'too_large', 'unsupported_media_type');
  if (conditional === 'write') add('invalid', 'precondition_failed');
  if (idempotent === true) add('invalid', 'conflict', 'idempotency_key_reused');
  return [...kinds].sort((a, b) => STATUS_OF_KIND[a] - STATUS_OF_KIND[b]);
}

/** An error of a kind as an example: the service's own, if it has one, of an operation that needs one of the scopes. */
export function exampleOf(
  kind: ErrorKind,
  scopes: readonly string[] = [],
  examples: ErrorExamples = {},
): ServiceError {
  const own = examples[kind];
  if (own !== undefined) return own;
  const message =
    kind === 'forbidden' && scopes.length > 0
      ? `This needs the scope ${scopes.join(' or ')}.`
      : ERRORS[kind].message;
  return new ServiceError(kind, message);
}
