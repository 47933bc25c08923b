import type { ErrorBody } from '@gatehouse/api/http/error-bodies';
import { requestFailure } from '@gatehouse/api/http/request-failure';
import { type ErrorKind, ServiceError } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import { withResourceMetadata } from '@gatehouse/tokens/resource-metadata';
import type { Context, Middleware } from 'koa';
import type { ToServiceError } from './service-error.ts';

/** The codes of RFC 6750 §3.1, and of RFC 6749 §4.1.2.1 for what that section lacks. */
const BEARER_CODES: Partial<Record<ErrorKind, string>> = {
  unauthenticated: 'invalid_token',
  forbidden: 'insufficient_scope',
  unavailable: 'temporarily_unavailable',
  rate_limited: 'rate_limited',
};

/**
 * The body `{error, error_description}`, with which /userinfo answers; without a token an empty one, as its challenge has
 * no error code either (RFC 6750 §3.1).
 */
export const bearerError: Pick<ErrorBody, 'write'> = {
  write({ kind, message, headers }: ServiceError) {
    if (kind === 'unauthenticated' && !headers['www-authenticate']?.includes('error=')) return {};
    return { error: BEARER_CODES[kind] ?? 'invalid_request', error_description: message };
  },
};

/**
 * Answers errors in what follows with one of the interface's bodies; challenges name the metadata of the API of `issuer`.
 * `noteCaller` is called for a request that has no route, and changes nothing of its response.
 */
export function apiErrors(
  toServiceError: ToServiceError,
  { write }: Pick<ErrorBody, 'write'>,
  issuer?: string,
  noteCaller?: (ctx: Context) => Promise<void>,
): Middleware {
  return async (ctx, next) => {
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) {
        throw new ServiceError('not_found', 'There is nothing here.');
      }
    } catch (thrown) {
      const error = toServiceError(ctx, thrown);
      const info = requestInfo(ctx.req);
      info.failure = requestFailure(error);
      if (/^(?:not_found|method_not_allowed)$/.test(error.kind) && info.client === undefined) {
        await noteCaller?.(ctx);
      }
      ctx.status = error.status;
      ctx.set(issuer === undefined ? error.headers : withResourceMetadata(error.headers, issuer));
      ctx.set('cache-control', 'no-store');
      ctx.body = write(error);
    }
  };
}
