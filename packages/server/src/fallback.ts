import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Link, notFoundPage, PAGE_HEADERS } from '@gatehouse/web/pages';
import { prefersHtml } from './accept.ts';
import { problem, sendJson } from './json-response.ts';
import { requestInfo } from './requests.ts';

/**
 * Responds to requests that belong to no service. A GET or HEAD that prefers HTML gets a page with the links, everything else JSON. Where
 * the services have paths under the same first segment, such as `/v1/orders` beside `/v1/users`, the callers are programs, and the response
 * is JSON whatever they accept. The services themselves respond to unknown paths below their prefixes.
 */
export function createFallback(options: { prefixes: readonly string[]; links: readonly Link[] }) {
  const { links } = options;
  // The bare `/` has no segment.
  const programSegments = new Set([
    'health',
    ...options.prefixes.map(firstSegment).filter((it) => it !== ''),
  ]);

  return (request: IncomingMessage, response: ServerResponse, path: string): void => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const mayBePage = isRead && !programSegments.has(firstSegment(path));
    if (mayBePage) response.setHeader('vary', 'accept');
    if (mayBePage && prefersHtml(request.headers.accept)) {
      sendPage(response, notFoundPage(requestInfo(request).id, links));
    } else {
      sendJson(response, 404, problem('not_found', 'There is nothing here.'));
    }
  };
}

function firstSegment(path: string): string {
  return path.split('/', 2)[1] ?? '';
}

function sendPage(response: ServerResponse, html: string): void {
  response.writeHead(404, { ...PAGE_HEADERS, 'content-length': Buffer.byteLength(html) });
  response.end(html);
}
