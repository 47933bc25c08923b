import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { notModified } from '../http/conditional.ts';
import { openApiDocument, type Route } from '../openapi/document.ts';
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
  // A buffer, since a string of this size would take up the heap (docs/adr/0012-openapi.md).
  let body = Buffer.alloc(0);
  let etag = '';
  app.addHook('onReady', async () => {
    body = Buffer.from(JSON.stringify(openApiDocument(options, routes)));
    etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  });
  app.get(options.path, async (request, reply) => {
    reply.headers({ etag, 'cache-control': 'public, max-age=300' });
    return notModified(request, etag)
      ? reply.code(304).send()
      : reply.type('application/json; charset=utf-8').send(body);
  });
}
