import type { FieldProblem } from '@gatehouse/core/errors';

/** A response of the API other than a success; status 0 when there was none. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  /** Such as `conflict`; empty where the response has none. */
  readonly code: string;
  readonly details: readonly FieldProblem[];
  /** In seconds, if the API says when to try again. */
  readonly retryAfter: number | undefined;
  /** Whether it takes a new sign-in, of which the API says that the last one is too old or too weak (RFC 9470 §3). */
  readonly takesSignIn: boolean;

  constructor(
    status: number,
    message: string,
    more: {
      code?: string;
      details?: readonly FieldProblem[];
      retryAfter?: number;
      takesSignIn?: boolean;
      cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.status = status;
    this.code = more.code ?? '';
    this.details = more.details ?? [];
    this.retryAfter = more.retryAfter;
    this.takesSignIn = more.takesSignIn ?? false;
  }

  /** Whether what answers the request is missing or away, rather than refuses it. */
  get isUnavailable(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

/** The error in a response, whichever of the interface's bodies it has (section 7). */
export function apiErrorOf(response: Pick<Response, 'status' | 'headers'>, text: string): ApiError {
  const { error, error_description: description } = parsed(text);
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const challenge = response.headers.get('www-authenticate') ?? '';
  const takesSignIn = challenge.includes('error="insufficient_user_authentication"');
  const more = { takesSignIn, ...(Number.isFinite(retryAfter) ? { retryAfter } : {}) };
  if (typeof error === 'object' && error !== null) {
    const { code, message, details } = error as { code?: string; message?: string; details?: FieldProblem[] };
    return new ApiError(response.status, message ?? `The API answered ${response.status}.`, {
      ...more,
      ...(code === undefined ? {} : { code }),
      details: (details ?? []).filter(
        ({ field, message: about }) => typeof field === 'string' && typeof about === 'string',
      ),
    });
  }
  const message =
    typeof description === 'string' ? description : typeof error === 'string' ? error : undefined;
  const code = typeof error === 'string' ? { code: error } : {};
  return new ApiError(response.status, message ?? `The API answered ${response.status}.`, {
    ...more,
    ...code,
  });
}

function parsed(text: string): { error?: unknown; error_description?: unknown } {
  try {
    return Object(JSON.parse(text)) as { error?: unknown };
  } catch {
    return {};
  }
}
