import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MetadataOptions } from './metadata.ts';
import { errorResponse, metadataResponse, type PlainResponse } from './responses.ts';
import type { Caller, Needs, Verifier } from './verifier.ts';

declare global {
  namespace Express {
    interface Request {
      /** Set by protect(). */
      caller?: Caller;
    }
  }
}

type Request = IncomingMessage & { originalUrl?: string; caller?: Caller };
type Middleware = (request: Request, response: ServerResponse, next: (error?: unknown) => void) => void;

/** A middleware that sets `request.caller`, or responds to a request that has not what is needed. */
export function protect(verifier: Verifier, needs?: Needs): Middleware {
  return async (request, response, next) => {
    try {
      request.caller = await verifier.verify(request, needs);
    } catch (error) {
      try {
        return send(response, errorResponse(error));
      } catch (fault) {
        return next(fault);
      }
    }
    next();
  };
}

/** A middleware that serves the metadata of the API at its well-known path; use it for the whole application. */
export function metadata(verifier: Verifier, options?: MetadataOptions): Middleware {
  return (request, response, next) => {
    const { method, originalUrl = request.url } = request;
    const found = metadataResponse(verifier, options, { method, path: originalUrl });
    if (found === undefined) next();
    else send(response, found);
  };
}

function send(response: ServerResponse, { status, headers, body }: PlainResponse): void {
  response.writeHead(status, headers).end(body);
}
