import { ServiceError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import { requestInfo } from '@gatehouse/kit/requests';
import type { Context } from 'koa';

/** Makes whatever was thrown while a request was answered an error for its caller; our own faults are logged. */
export type Faults = (ctx: Context, thrown: unknown) => ServiceError;

/** `translate` gives the caller's error for a failure that is none of ours, such as a database that is away. */
export function createFaults(
  logger: Logger,
  translate: (error: unknown) => ServiceError | undefined,
): Faults {
  return (ctx, thrown) => {
    if (thrown instanceof ServiceError) return thrown;
    const translated = translate(thrown);
    if (translated !== undefined) return translated;
    const { id } = requestInfo(ctx.req);
    logger.error({ err: thrown, req_id: id }, 'fault');
    return new ServiceError('internal', `Something went wrong on our side. Request id: ${id}.`);
  };
}
