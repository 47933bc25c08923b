import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { v2Body } from '../http/error-bodies.ts';
import { GUIDE_PATH } from '../lists/deprecation.ts';
import { GUIDES_TAG } from '../openapi/interface.ts';
import { documented } from '../openapi/operation.ts';

/** Serves the guide to filters, to which answers to deprecated filters link. It needs no credential. */
export function mountFilterGuide(app: FastifyInstance): void {
  const text = readFileSync(new URL('../../guides/filters.md', import.meta.url), 'utf8');
  const schema = documented({
    operationId: 'read_filter_guide',
    summary: 'How to filter lists',
    tag: GUIDES_TAG,
    responses: { 200: { description: 'The guide.', mediaType: 'text/markdown' } },
    errors: { body: v2Body },
  });
  app.get(GUIDE_PATH, { schema }, async (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=3600')
      .type('text/markdown; charset=utf-8')
      .serializer(String)
      .send(text),
  );
}
