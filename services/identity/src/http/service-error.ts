import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { requestInfo } from '@gatehouse/server/requests';
import type { Context } from 'koa';

/** Turns whatever was thrown while answering a request into an error for the caller, and logs our own faults. */
export type ToServiceError = (ctx: Context, thrown: unknown) => ServiceError;

/** `translate` returns the caller's error for a failure that is no fault of ours, such as a database that is down. */
export function createToServiceError(
  logger: Logger,
  translate: (error: unknown) => ServiceError | undefined,
): ToServiceError {
  return (ctx, thrown) => {
    if (thrown instanceof ServiceError) return thrown;
    const translated = translate(thrown);
    if (translated !== undefined) return translated;
    const { id } = requestInfo(ctx.req);
    logger.error({ err: thrown, req_id: id }, 'fault');
    return new ServiceError('internal', `Something went wrong on our side. Request id: ${id}.`);
  };
}
