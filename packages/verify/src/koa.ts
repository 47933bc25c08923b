import type { IncomingMessage } from 'node:http';
import type { MetadataOptions } from './metadata.ts';
import { errorResponse, metadataResponse, type PlainResponse } from './responses.ts';
import type { Caller, Needs, Verifier } from './verifier.ts';

type Context = {
  method: string;
  originalUrl: string;
  req: IncomingMessage;
  state: { caller?: Caller };
  status: number;
  body?: unknown;
  set(headers: Record<string, string>): void;
};
type Middleware = (ctx: Context, next: () => Promise<unknown>) => Promise<void>;

/** A middleware that sets `ctx.state.caller` and `ctx.caller`, or responds to a request that has not what is needed. */
export function protect(verifier: Verifier, needs?: Needs): Middleware {
  return async (ctx, next) => {
    const { headers, rawHeaders, socket } = ctx.req;
    const request = { method: ctx.method, originalUrl: ctx.originalUrl, headers, rawHeaders, socket };
    try {
      const caller = await verifier.verify(request, needs);
      ctx.state.caller = caller;
      (ctx as { caller?: Caller }).caller = caller;
    } catch (error) {
      return respond(ctx, errorResponse(error));
    }
    await next();
  };
}

/** A middleware that serves the metadata of the API at its well-known path. */
export function metadata(verifier: Verifier, options?: MetadataOptions): Middleware {
  return async (ctx, next) => {
    const found = metadataResponse(verifier, options, { method: ctx.method, path: ctx.originalUrl });
    if (found === undefined) await next();
    else respond(ctx, found);
  };
}

function respond(ctx: Context, { status, headers, body }: PlainResponse): void {
  ctx.status = status;
  ctx.set(headers);
  ctx.body = body;
}
