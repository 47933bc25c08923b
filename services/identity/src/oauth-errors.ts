import { type ErrorKind, ServiceError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import { requestInfo } from '@gatehouse/kit/requests';
import type { Context, Middleware } from 'koa';

/** Codes of RFC 6749 §5.2, and of §4.1.2.1 for what that section lacks. */
const OAUTH_CODES: Partial<Record<ErrorKind, string>> = {
  unauthenticated: 'invalid_client',
  forbidden: 'access_denied',
  rate_limited: 'rate_limited',
  unavailable: 'temporarily_unavailable',
  internal: 'server_error',
};

/**
 * What oidc-provider calls invalid_request, and RFC 6749 §5.2 invalid_client: no authentication included, or an
 * Authorization header that holds none.
 */
const NO_AUTHENTICATION = new Set([
  'no client authentication mechanism provided',
  'invalid authorization header value format',
  'client_id and client_secret in the authorization header are not properly encoded',
  'client_secret must be provided in the Authorization header',
]);

function refuseClient(ctx: Context, description: string): void {
  ctx.body = { error: 'invalid_client', error_description: description };
  ctx.status = 401;
  if (ctx.get('authorization') !== '') ctx.set('www-authenticate', 'Basic realm="gatehouse"');
}

/**
 * Makes every error of what follows `{error, error_description}`, never cached (RFC 6749 §5.2): our own, and
 * those that oidc-provider answers by itself. `faultOf` gives what made oidc-provider answer server_error.
 */
export function oauthErrors(options: {
  logger: Logger;
  translate(error: unknown): ServiceError | undefined;
  faultOf(ctx: Context): unknown;
}): Middleware {
  const { logger, translate, faultOf } = options;
  const asServiceError = (ctx: Context, thrown: unknown): ServiceError => {
    if (thrown instanceof ServiceError) return thrown;
    const translated = translate(thrown);
    if (translated !== undefined) return translated;
    const { id } = requestInfo(ctx.req);
    logger.error({ err: thrown, req_id: id }, 'fault');
    return new ServiceError('internal', `Something went wrong on our side. Request id: ${id}.`);
  };

  return async (ctx, next) => {
    try {
      await next();
      const fault = faultOf(ctx);
      if (fault !== undefined) throw fault;
    } catch (thrown) {
      const error = asServiceError(ctx, thrown);
      ctx.status = error.status;
      ctx.set(error.headers);
      ctx.body = { error: OAUTH_CODES[error.kind] ?? 'invalid_request', error_description: error.message };
    }
    const { status } = ctx;
    if (status < 400) return;
    ctx.set('cache-control', 'no-store');
    const { error, error_description: description } = (ctx.body ?? {}) as Record<string, unknown>;
    if (NO_AUTHENTICATION.has(String(description))) {
      refuseClient(ctx, String(description));
      return;
    }
    ctx.body =
      typeof error === 'string'
        ? { error, error_description: description ?? error }
        : { error: 'invalid_request', error_description: 'There is nothing here.' };
    // Koa takes a body that is set while there was none for a 200.
    ctx.status = status;
  };
}
