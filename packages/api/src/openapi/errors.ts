import { type ErrorKind, STATUS_OF_KIND } from '@gatehouse/core/errors';
import type { ResponseHeaders } from './headers.ts';
import type { Operation } from './operation.ts';

/** The description of each kind of error. */
export const DESCRIPTIONS: Record<ErrorKind, string> = {
  invalid: 'The request is malformed, or a field is invalid.',
  unauthenticated: 'The request has no valid credential.',
  forbidden: 'The credential is valid, but does not permit this operation.',
  not_found: 'The resource does not exist.',
  method_not_allowed: 'The path does not support this method.',
  timeout: 'The body took too long to arrive.',
  conflict: 'The request conflicts with an existing resource, or with a request that is still running.',
  precondition_failed: 'The current version does not match If-Match.',
  too_large: 'The body is too large.',
  unsupported_media_type: 'The body is not JSON.',
  idempotency_key_reused: 'The Idempotency-Key was used with another body.',
  rate_limited: 'Too many requests. Retry-After says when to try again.',
  internal: 'Something went wrong on the server.',
  unavailable: 'A dependency of the service is unavailable. Try again later.',
};

/** An actual message of each kind, for its example. */
export const MESSAGES: Record<ErrorKind, string> = {
  invalid: 'The body is not valid JSON.',
  unauthenticated: 'This needs an access token or an API key in the Authorization header.',
  forbidden: 'You are not permitted to do this.',
  not_found: 'There is nothing here.',
  method_not_allowed: 'This path takes GET, HEAD.',
  timeout: 'The body did not arrive within 30 s.',
  conflict: 'A request with this Idempotency-Key is still running.',
  precondition_failed: 'It was changed in the meantime.',
  too_large: 'The body is larger than 262144 bytes.',
  unsupported_media_type: 'The body must be sent as application/json.',
  idempotency_key_reused: 'This Idempotency-Key was used with another body.',
  rate_limited: 'Too many requests: try again in 30 s.',
  internal: 'Something went wrong on our side. Request id: req_01.',
  unavailable: 'The database cannot be reached.',
};

/** The additional headers of each kind of error. */
export const ERROR_HEADERS: Partial<Record<ErrorKind, ResponseHeaders>> = {
  unauthenticated: { 'WWW-Authenticate': 'always' },
  conflict: { 'Retry-After': 'sometimes' },
  rate_limited: { 'Retry-After': 'always' },
  unavailable: { 'Retry-After': 'sometimes' },
};

/** The kinds of errors of an operation, in the order of their statuses. */
export function errorKindsOf(operation: Operation, method: string): ErrorKind[] {
  const { scopes, query, conditional, idempotent, errors } = operation;
  const kinds: ErrorKind[] = ['internal', ...(errors.kinds ?? [])];
  if (scopes !== undefined) kinds.push('unauthenticated', 'forbidden', 'rate_limited', 'unavailable');
  if (query !== undefined) kinds.push('invalid');
  // A body is read if one is sent, even with DELETE.
  if (method !== 'GET') kinds.push('invalid', 'timeout', 'too_large', 'unsupported_media_type');
  if (conditional === 'write') kinds.push('invalid', 'precondition_failed');
  if (idempotent === true) kinds.push('invalid', 'conflict', 'idempotency_key_reused');
  return [...new Set(kinds)].sort((a, b) => STATUS_OF_KIND[a] - STATUS_OF_KIND[b]);
}
