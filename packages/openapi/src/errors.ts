import { type ErrorKind, STATUS_OF_KIND } from '@gatehouse/kit/errors';
import type { AnswerHeaders } from './headers.ts';
import type { Operation } from './operation.ts';

/** What each kind of error means. */
export const DESCRIPTIONS: Record<ErrorKind, string> = {
  invalid: 'The request is malformed, or a field of it is not valid.',
  unauthenticated: 'There is no valid credential.',
  forbidden: 'The credential is valid, and is not permitted to do this.',
  not_found: 'There is no such thing.',
  method_not_allowed: 'The path does not take this method.',
  conflict: 'It is in the way of what is there already, or of a request that is still running.',
  precondition_failed: 'It is not in the version that If-Match names.',
  too_large: 'The body is too large.',
  unsupported_media_type: 'The body is not JSON.',
  idempotency_key_reused: 'The Idempotency-Key belongs to a request with another body.',
  rate_limited: 'Too many requests: Retry-After says when to go on.',
  internal: 'Something went wrong on the server.',
  unavailable: 'Something that the service needs is away: try again.',
};

/** A message of each kind that is really given, as its example. */
export const MESSAGES: Record<ErrorKind, string> = {
  invalid: 'The body is not valid JSON.',
  unauthenticated: 'This needs an access token or an API key in the Authorization header.',
  forbidden: 'You are not permitted to do this.',
  not_found: 'There is nothing here.',
  method_not_allowed: 'This path takes GET, HEAD.',
  conflict: 'A request with this Idempotency-Key is still running.',
  precondition_failed: 'It was changed in the meantime.',
  too_large: 'The body is larger than 262144 bytes.',
  unsupported_media_type: 'The body must be sent as application/json.',
  idempotency_key_reused: 'This Idempotency-Key was used with another body.',
  rate_limited: 'Too many requests: try again in 30 s.',
  internal: 'Something went wrong on our side. Request id: req_01.',
  unavailable: 'The database cannot be reached just now.',
};

/** The headers of its own that an error of a kind has. */
export const ERROR_HEADERS: Partial<Record<ErrorKind, AnswerHeaders>> = {
  unauthenticated: { 'WWW-Authenticate': 'always' },
  conflict: { 'Retry-After': 'sometimes' },
  rate_limited: { 'Retry-After': 'always' },
  unavailable: { 'Retry-After': 'sometimes' },
};

/** The kinds of errors that an operation may answer with, in the order of their statuses. */
export function errorKindsOf(operation: Operation, method: string): ErrorKind[] {
  const { scopes, query, conditional, idempotent, errors } = operation;
  const kinds: ErrorKind[] = ['internal', ...(errors.kinds ?? [])];
  if (scopes !== undefined) kinds.push('unauthenticated', 'forbidden', 'rate_limited', 'unavailable');
  if (query !== undefined) kinds.push('invalid');
  // A body that is sent is read, even that of a DELETE.
  if (method !== 'GET') kinds.push('invalid', 'too_large', 'unsupported_media_type');
  if (conditional === 'write') kinds.push('invalid', 'precondition_failed');
  if (idempotent === true) kinds.push('invalid', 'conflict', 'idempotency_key_reused');
  return [...new Set(kinds)].sort((a, b) => STATUS_OF_KIND[a] - STATUS_OF_KIND[b]);
}
