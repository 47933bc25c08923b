import { BODY_LIMIT, parseJsonBody } from '@gatehouse/http/json-body';
import { discardBody } from '@gatehouse/kit/discard-body';
import { ServiceError } from '@gatehouse/kit/errors';
import type { Context } from 'koa';
import readBody from 'raw-body';

/** A request's body of at most `limit` bytes. */
export async function readBytes(ctx: Context, limit: number): Promise<Buffer> {
  // RFC 9110 §12.5.3. A compressed body would have to be decompressed before its size is known.
  if (!/^(?:identity)?$/i.test(ctx.get('content-encoding'))) {
    throw new ServiceError('unsupported_media_type', 'The body must be sent without a Content-Encoding.', {
      headers: { 'accept-encoding': 'identity' },
    });
  }
  return readBody(ctx.req, { length: ctx.get('content-length') || null, limit }).catch(
    async (error: { type?: string }) => {
      if (error.type === 'entity.too.large') {
        await discardBody(ctx.req);
        ctx.set('connection', 'close');
        throw new ServiceError('too_large', `The body is larger than ${limit} bytes.`);
      }
      throw new ServiceError('invalid', 'The body could not be read.', { cause: error });
    },
  );
}

/** A request's JSON body; undefined when it is empty. */
export async function readJson(ctx: Context): Promise<unknown> {
  const body = await readBytes(ctx, BODY_LIMIT);
  if (body.length > 0 && ctx.is('application/json') !== 'application/json') {
    throw new ServiceError('unsupported_media_type', 'The body must be sent as application/json.');
  }
  return parseJsonBody(body);
}
