import type { ErrorKind, ServiceError } from '@gatehouse/core/errors';
import { type TSchema, Type } from 'typebox';

/** An API profile's error format, and its schema. */
export type ErrorBody = {
  write(error: ServiceError): Record<string, unknown>;
  /**
   * Names every property that `write` may set. Its title is its name in the OpenAPI document, and must not be a built-in
   * type of a language that clients are generated in.
   */
  schema: TSchema;
};

/** The codes of profiles A, D, E, F and G. */
const UPPER_CASE_CODES: Record<ErrorKind, string> = {
  invalid: 'INVALID_INPUT',
  unauthenticated: 'UNAUTHORIZED',
  forbidden: 'FORBIDDEN',
  not_found: 'NOT_FOUND',
  method_not_allowed: 'METHOD_NOT_ALLOWED',
  timeout: 'REQUEST_TIMEOUT',
  conflict: 'CONFLICT',
  precondition_failed: 'PRECONDITION_FAILED',
  too_large: 'PAYLOAD_TOO_LARGE',
  unsupported_media_type: 'UNSUPPORTED_MEDIA_TYPE',
  idempotency_key_reused: 'IDEMPOTENCY_KEY_REUSED',
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
  timeout: 'request_timeout',
  conflict: 'conflict',
  precondition_failed: 'precondition_failed',
  too_large: 'payload_too_large',
  unsupported_media_type: 'unsupported_media_type',
  idempotency_key_reused: 'idempotency_key_reused',
  rate_limited: 'rate_limited',
  internal: 'server_error',
  unavailable: 'unavailable',
};

/** The code of /v2, by which the request log names the errors of every profile. */
export const v2CodeOf = (kind: ErrorKind): string => V2_CODES[kind];

const closed = { additionalProperties: false };
const Message = Type.String({ description: 'A human-readable message.' });
const codeOf = (codes: Record<ErrorKind, string>) =>
  Type.Unsafe<string>({ type: 'string', enum: Object.values(codes) });

/** `{error: {code, message}}` with the codes of profile A. */
export const upperCaseCodeBody: ErrorBody = {
  write: (error) => ({ error: { code: UPPER_CASE_CODES[error.kind], message: error.message } }),
  schema: Type.Object(
    { error: Type.Object({ code: codeOf(UPPER_CASE_CODES), message: Message }, closed) },
    { title: 'ApiError', ...closed },
  ),
};

/** `{error: {code, message, details?}}` with the codes of /v2; the default outside the profiles. */
export const v2Body: ErrorBody = {
  write: (error) => ({
    error: {
      code: V2_CODES[error.kind],
      message: error.message,
      ...(error.details === undefined ? {} : { details: error.details }),
    },
  }),
  schema: Type.Object(
    {
      error: Type.Object(
        {
          code: codeOf(V2_CODES),
          message: Message,
          details: Type.Optional(
            Type.Array(Type.Object({ field: Type.String(), message: Type.String() }, closed), {
              description: 'The invalid fields.',
            }),
          ),
        },
        closed,
      ),
    },
    { title: 'ApiErrorV2', ...closed },
  ),
};

/** `{error: string}`, of profile C, login and status; a code only where the interface specifies one. */
export const plainBody: ErrorBody = {
  write: (error) => ({ error: error.kind === 'rate_limited' ? 'rate_limited' : error.message }),
  schema: Type.Object({ error: Message }, { title: 'ApiErrorText', ...closed }),
};
