import { createHash } from 'node:crypto';
import { notModified } from '@gatehouse/http/conditional';
import { openApiDocument, type Route } from '@gatehouse/openapi/document';
import type { OpenApiOptions } from '@gatehouse/openapi/operation';
import type { FastifyInstance } from 'fastify';

/** Collects what the routes of an app say about themselves, and serves it as an OpenAPI 3.1 document. */
export function mountOpenApi(app: FastifyInstance, options: OpenApiOptions): void {
  const routes: Route[] = [];
  app.addHook('onRoute', ({ url, method, schema }) => {
    if (schema?.operation === undefined) return;
    for (const name of [method].flat()) {
      // Fastify adds HEAD to each GET.
      if (name !== 'HEAD') routes.push({ url, method: name, operation: schema.operation });
    }
  });
  let text = '';
  let etag = '';
  app.addHook('onReady', async () => {
    text = JSON.stringify(openApiDocument(options, routes));
    etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  });
  app.get(options.path, async (request, reply) => {
    reply.headers({ etag, 'cache-control': 'public, max-age=300' });
    return notModified(request, etag)
      ? reply.code(304).send()
      : reply.type('application/json; charset=utf-8').send(text);
  });
}
