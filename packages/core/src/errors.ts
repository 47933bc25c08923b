/**
 * The failures that a service reports to its callers. The kind determines the HTTP status, and each API profile has its
 * own code for it (see @gatehouse/api/http/error-bodies).
 */
export const STATUS_OF_KIND = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const;

export type ErrorKind = keyof typeof STATUS_OF_KIND;

/** The kind that has this HTTP status; undefined when none has. */
export function kindOfStatus(status: number): ErrorKind | undefined {
  return (Object.keys(STATUS_OF_KIND) as ErrorKind[]).find((kind) => STATUS_OF_KIND[kind] === status);
}

/** An invalid field of a request, and what is wrong with it. */
export type FieldProblem = { field: string; message: string };

/** A request can be wrong in a hundred thousand places. */
export const MAX_DETAILS = 20;

/**
 * An error whose message is written for the caller. Any other error is a fault of ours, and reaches the caller as
 * `internal`, without its message.
 */
export class ServiceError extends Error {
  readonly kind: ErrorKind;
  /** The first of those given, at most MAX_DETAILS. */
  readonly details: readonly FieldProblem[] | undefined;
  /** Response headers that belong to the failure, such as WWW-Authenticate or Retry-After. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: ErrorKind,
    message: string,
    options: {
      details?: readonly FieldProblem[];
      headers?: Readonly<Record<string, string>>;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.kind = kind;
    this.details = options.details?.slice(0, MAX_DETAILS);
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return STATUS_OF_KIND[this.kind];
  }
}

/** A dependency is unavailable, and the caller may try again. `retryAfter` is in seconds. */
export function unavailable(message: string, cause?: unknown, retryAfter = 1): ServiceError {
  return new ServiceError('unavailable', message, { cause, headers: { 'retry-after': String(retryAfter) } });
}
