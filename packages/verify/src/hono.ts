import type { MetadataOptions } from './metadata.ts';
import { errorResponse, metadataResponse, toResponse } from './responses.ts';
import type { Caller, Needs, Verifier } from './verifier.ts';

type Context = { req: { raw: Request; path: string }; set(name: 'caller', caller: Caller): void };
type Middleware = (context: Context, next: () => Promise<void>) => Promise<Response | undefined>;

/** A middleware that sets the variable `caller`, or responds to a request that has not what is needed. */
export function protect(verifier: Verifier, needs?: Needs): Middleware {
  return async (context, next) => {
    try {
      context.set('caller', await verifier.verify(context.req.raw, needs));
    } catch (error) {
      return toResponse(errorResponse(error));
    }
    await next();
    return undefined;
  };
}

/** A middleware that serves the metadata of the API at its well-known path. */
export function metadata(verifier: Verifier, options?: MetadataOptions): Middleware {
  return async ({ req }, next) => {
    const found = metadataResponse(verifier, options, { method: req.raw.method, path: req.path });
    if (found !== undefined) return toResponse(found);
    await next();
    return undefined;
  };
}
