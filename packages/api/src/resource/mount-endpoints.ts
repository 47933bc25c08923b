import { type Caller, requireScope } from '@gatehouse/tokens/caller';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { createEndpoints, type Endpoint } from '../endpoints/endpoints.ts';
import { JsonText } from '../http/json-body.ts';
import { documented, type Operation } from '../openapi/operation.ts';
import { callerOf } from './authenticate.ts';
import { send } from './json-response.ts';

type FromCaller = { caller: Caller; request: FastifyRequest; reply: FastifyReply };

/**
 * Mounts endpoints as routes of `app`, for callers who have one of their scopes; where there are none, for any credential. A
 * handler may also send the reply itself, and return it.
 */
export function mountEndpoints(
  app: FastifyInstance,
  authenticate: onRequestAsyncHookHandler,
  path: { prefix: string; errors: Operation['errors']; scopes: readonly string[] },
) {
  return createEndpoints<FromCaller>({
    ...path,
    mount({ method, url, operation, admit, respond }: Endpoint<FromCaller>) {
      const from = (request: FastifyRequest, reply: FastifyReply) => {
        return { caller: callerOf(request), request, reply };
      };
      app.route({
        method,
        url,
        config: { errorBody: operation.errors.body },
        schema: documented(operation),
        onRequest: [
          authenticate,
          async (request, reply) => {
            const { scopes = [] } = operation;
            if (scopes.length > 0) requireScope(callerOf(request), scopes);
            admit(from(request, reply), request.params);
          },
        ],
        async handler(request, reply) {
          const { params, query, body: sent } = request;
          const readBody = async () => sent;
          const { body, ...response } = await respond(from(request, reply), { params, query, readBody });
          if (reply.sent) return reply;
          return send(reply, {
            ...response,
            text: body instanceof JsonText ? body.text : JSON.stringify(body),
          });
        },
      });
    },
  });
}

/** The body of a JSON response that nobody keeps. */
export function uncached(reply: FastifyReply, text: string): JsonText {
  reply.header('cache-control', 'no-store');
  return new JsonText(text);
}
