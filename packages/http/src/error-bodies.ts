import type { ErrorKind, ServiceError } from '@gatehouse/kit/errors';

/** How an API profile writes an error. */
export type ErrorBody = (error: ServiceError) => Record<string, unknown>;

/** The codes of profile A, which E, G, D and F share. */
const UPPER_CASE_CODES: Record<ErrorKind, string> = {
  invalid: 'INVALID_INPUT',
  unauthenticated: 'UNAUTHORIZED',
  forbidden: 'FORBIDDEN',
  not_found: 'NOT_FOUND',
  method_not_allowed: 'METHOD_NOT_ALLOWED',
  conflict: 'CONFLICT',
  precondition_failed: 'PRECONDITION_FAILED',
  too_large: 'PAYLOAD_TOO_LARGE',
  unsupported_media_type: 'UNSUPPORTED_MEDIA_TYPE',
  rate_limited: 'rate_limited',
  internal: 'INTERNAL_ERROR',
  unavailable: 'UNAVAILABLE',
};

/** The code table of the /v2 profiles. */
const V2_CODES: Record<ErrorKind, string> = {
  invalid: 'invalid_parameter',
  unauthenticated: 'unauthorized',
  forbidden: 'forbidden',
  not_found: 'not_found',
  method_not_allowed: 'method_not_allowed',
  conflict: 'conflict',
  precondition_failed: 'precondition_failed',
  too_large: 'payload_too_large',
  unsupported_media_type: 'unsupported_media_type',
  rate_limited: 'rate_limited',
  internal: 'server_error',
  unavailable: 'unavailable',
};

/** `{error: {code, message}}` with the codes of profile A. */
export const upperCaseCodeBody: ErrorBody = (error) => ({
  error: { code: UPPER_CASE_CODES[error.kind], message: error.message },
});

/** `{error: {code, message, details?}}` with the codes of /v2; what has no other shape gets this one. */
export const v2Body: ErrorBody = (error) => ({
  error: {
    code: V2_CODES[error.kind],
    message: error.message,
    ...(error.details === undefined ? {} : { details: error.details }),
  },
});
