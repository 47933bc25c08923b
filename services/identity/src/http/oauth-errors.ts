import type { ErrorKind } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import type { Context, Middleware } from 'koa';
import type { ToServiceError } from './service-error.ts';

/** Codes of RFC 6749 §5.2, and of §4.1.2.1 for what that section lacks. */
const OAUTH_CODES: Partial<Record<ErrorKind, string>> = {
  unauthenticated: 'invalid_client',
  forbidden: 'access_denied',
  rate_limited: 'rate_limited',
  unavailable: 'temporarily_unavailable',
  internal: 'server_error',
};

/** Missing or malformed authentication: invalid_request for oidc-provider, and invalid_client in RFC 6749 §5.2. */
const NO_AUTHENTICATION = new Set([
  'no client authentication mechanism provided',
  'invalid authorization header value format',
  'client_id and client_secret in the authorization header are not properly encoded',
  'client_secret must be provided in the Authorization header',
  'invalid client_assertion format',
]);

/** invalid_request for oidc-provider, and unauthorized_client in RFC 6749 §5.2 and RFC 8628 §3.2. */
const GRANT_NOT_ALLOWED = /^(?:requested grant type|urn:\S+:device_code) is not allowed for this client$/;

function refuseClient(ctx: Context, description: string): void {
  ctx.body = { error: 'invalid_client', error_description: description };
  ctx.status = 401;
  if (ctx.get('authorization') !== '') ctx.set('www-authenticate', 'Basic realm="gatehouse"');
}

/**
 * Answers every error in what follows, our own and oidc-provider's, with `{error, error_description}`, never cached
 * (RFC 6749 §5.2). `serverErrorOf` returns what made oidc-provider answer server_error. For
 * people, faults are shown as a page.
 */
export function oauthErrors(options: {
  toServiceError: ToServiceError;
  serverErrorOf(ctx: Context): unknown;
  isPage(ctx: Context): boolean;
  showFault(ctx: Context, thrown: unknown): void;
}): Middleware {
  const { toServiceError, serverErrorOf } = options;
  return async (ctx, next) => {
    // Evaluated first, as the path is rewritten on the way.
    const isPage = options.isPage(ctx);
    try {
      await next();
      const fault = serverErrorOf(ctx);
      if (fault !== undefined && !isPage) throw fault;
    } catch (thrown) {
      if (isPage) return options.showFault(ctx, thrown);
      const error = toServiceError(ctx, thrown);
      ctx.status = error.status;
      ctx.set(error.headers);
      const code = OAUTH_CODES[error.kind] ?? 'invalid_request';
      ctx.body = { error: code, error_description: error.message };
      requestInfo(ctx.req).failure ??= { code, message: error.message };
    }
    if (!isPage) normalizeError(ctx);
  };
}

/** Gives an error of oidc-provider's the body and the status that errors have here. */
function normalizeError(ctx: Context): void {
  const { status } = ctx;
  if (status < 400) return;
  ctx.set('cache-control', 'no-store');
  const { error, error_description: description } = (ctx.body ?? {}) as Record<string, unknown>;
  if (NO_AUTHENTICATION.has(String(description))) {
    refuseClient(ctx, String(description));
    noteCode(ctx);
    return;
  }
  const code = GRANT_NOT_ALLOWED.test(String(description)) ? 'unauthorized_client' : error;
  ctx.body =
    typeof code === 'string'
      ? { error: code, error_description: description ?? code }
      : { error: 'invalid_request', error_description: 'There is nothing here.' };
  // Koa sets the status to 200 when a body is set where there was none.
  ctx.status = status;
  noteCode(ctx);
}

/** The request log has the code that the caller got. */
function noteCode(ctx: Context): void {
  const { failure } = requestInfo(ctx.req);
  if (failure !== undefined) failure.code = (ctx.body as { error: string }).error;
}
