import type { IncomingMessage } from 'node:http';
import type { MetadataOptions } from './metadata.ts';
import { errorResponse, metadataResponse } from './responses.ts';
import type { Caller, Needs, Verifier } from './verifier.ts';

type Reply = {
  code(status: number): Reply;
  headers(headers: Record<string, string>): Reply;
  send(body: string): Reply;
};
type Application = {
  get(path: string, handler: (request: { method: string }, reply: Reply) => unknown): unknown;
};

/** An onRequest hook that sets `request.caller`, or responds to a request that has not what is needed. */
export function protect(verifier: Verifier, needs?: Needs) {
  return async (request: { raw: IncomingMessage; originalUrl: string }, reply: Reply): Promise<unknown> => {
    const { raw, originalUrl } = request;
    const { method, headers, rawHeaders, socket } = raw;
    try {
      const caller = await verifier.verify({ method, headers, rawHeaders, socket, originalUrl }, needs);
      (request as { caller?: Caller }).caller = caller;
      return undefined;
    } catch (error) {
      const { status, headers: more, body } = errorResponse(error);
      return reply.code(status).headers(more).send(body);
    }
  };
}

/** A plugin that serves the metadata of the API at its well-known path. */
export function metadata(verifier: Verifier, options?: MetadataOptions) {
  const { path } = verifier.metadata;
  return async (app: Application): Promise<void> => {
    app.get(path, ({ method }, reply) => {
      const { status, headers, body } = metadataResponse(verifier, options, { method, path }) ?? NOT_FOUND;
      return reply.code(status).headers(headers).send(body);
    });
  };
}

const NOT_FOUND = { status: 404, headers: {}, body: '' };
