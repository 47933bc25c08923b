import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { v2Body } from './error-bodies.ts';
import { documented } from './openapi.ts';

/** Until when the deprecated form of filters is promised to work. */
export type Deprecation = { sunset: Date };

export const GUIDE_PATH = '/guides/filters';

/** When filters without brackets were deprecated. */
const DEPRECATED_AT = new Date('2025-07-10T00:00:00Z');

/** The headers of an answer to a request with a deprecated filter (RFC 9745 §2, RFC 8594 §3). */
export function deprecationHeaders({ sunset }: Deprecation): Record<string, string> {
  return {
    deprecation: `@${DEPRECATED_AT.getTime() / 1000}`,
    sunset: sunset.toUTCString(),
    link: `<${GUIDE_PATH}>; rel="deprecation"; type="text/markdown"`,
  };
}

/** Serves the guide that these headers point to; it needs no credential. */
export function mountFilterGuide(app: FastifyInstance): void {
  const text = readFileSync(new URL('../guides/filters.md', import.meta.url), 'utf8');
  const schema = documented({
    operationId: 'read_filter_guide',
    summary: 'How lists are filtered',
    tag: 'guides',
    answers: { 200: { description: 'The guide.', mediaType: 'text/markdown' } },
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
