import type { MetadataOptions } from './metadata.ts';
import { errorResponse, metadataResponse, toResponse } from './responses.ts';
import type { Caller, Needs, Verifier } from './verifier.ts';

type Handler<Context> = (request: Request, context: Context) => Response | Promise<Response>;

/** A wrapper of a route handler, whose context gets a `caller`, or which responds to a request that has not what is needed. */
export function protect(verifier: Verifier, needs?: Needs) {
  return <Context extends object>(handler: Handler<Context & { caller: Caller }>): Handler<Context> => {
    return async (request, context) => {
      let caller: Caller;
      try {
        caller = await verifier.verify(request, needs);
      } catch (error) {
        return toResponse(errorResponse(error));
      }
      return handler(request, { ...context, caller });
    };
  };
}

/** A route handler for GET, which serves the metadata of the API; its route has the well-known path. */
export function metadata(verifier: Verifier, options?: MetadataOptions): (request: Request) => Response {
  return ({ method, url }) => {
    const found = metadataResponse(verifier, options, { method, path: new URL(url).pathname });
    return found === undefined ? new Response(null, { status: 404 }) : toResponse(found);
  };
}
