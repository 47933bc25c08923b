import type { ErrorBody } from '@gatehouse/http/error-bodies';
import { ServiceError } from '@gatehouse/kit/errors';
import type { Middleware } from 'koa';
import type { Faults } from './faults.ts';

/** `{error, error_description}` with the codes of RFC 6750 §3.1, as /userinfo answers. */
export const bearerError: Pick<ErrorBody, 'write'> = {
  write: (error: ServiceError) => ({
    error:
      error.kind === 'unauthenticated'
        ? 'invalid_token'
        : error.kind === 'forbidden'
          ? 'insufficient_scope'
          : error.kind === 'unavailable'
            ? 'temporarily_unavailable'
            : error.kind === 'rate_limited'
              ? 'rate_limited'
              : 'invalid_request',
    error_description: error.message,
  }),
};

/** Writes what goes wrong in what follows in one of the interface's shapes. */
export function apiErrors(faults: Faults, { write }: Pick<ErrorBody, 'write'>): Middleware {
  return async (ctx, next) => {
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) {
        throw new ServiceError('not_found', 'There is nothing here.');
      }
    } catch (thrown) {
      const error = faults(ctx, thrown);
      ctx.status = error.status;
      ctx.set(error.headers);
      ctx.set('cache-control', 'no-store');
      ctx.body = write(error);
    }
  };
}
