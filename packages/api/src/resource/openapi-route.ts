import type { FastifyInstance } from 'fastify';
import { type Route, servedDocument } from '../openapi/document.ts';
import type { OpenApiOptions } from '../openapi/operation.ts';

/** Serves an OpenAPI 3.1 document of all `documented` routes that are mounted after this call. */
export function mountOpenApi(app: FastifyInstance, options: OpenApiOptions): void {
  const routes: Route[] = [];
  app.addHook('onRoute', ({ url, method, schema }) => {
    const { operation } = schema ?? {};
    // Fastify adds HEAD to each GET.
    const methods = [method].flat().filter((name) => name !== 'HEAD');
    if (operation !== undefined) routes.push(...methods.map((name) => ({ url, method: name, operation })));
  });
  let respond: ReturnType<typeof servedDocument>;
  app.addHook('onReady', async () => {
    respond = servedDocument(options, routes);
  });
  app.get(options.path, async (request, reply) => {
    const { status, headers, body } = respond(request);
    return reply.code(status).headers(headers).send(body);
  });
}
