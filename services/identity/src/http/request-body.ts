import { BODY_LIMIT, parseJsonBody } from '@gatehouse/api/http/json-body';
import { readBody } from '@gatehouse/api/http/request-body';
import { ServiceError } from '@gatehouse/core/errors';
import type { Context } from 'koa';

/** A request's JSON body; undefined when it is empty. */
export async function readJson(ctx: Context): Promise<unknown> {
  const body = await readBody(ctx.req, BODY_LIMIT);
  if (body.length > 0 && ctx.is('application/json') !== 'application/json') {
    throw new ServiceError('unsupported_media_type', 'The body must be sent as application/json.');
  }
  return parseJsonBody(body);
}
