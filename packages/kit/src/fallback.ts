import type { IncomingMessage, ServerResponse } from 'node:http';
import { prefersHtml } from './accept.ts';
import { problem, sendJson } from './json-answer.ts';
import { homeDocument, homePage, type Link, notFoundPage, PAGE_HEADERS } from './pages.ts';
import { requestInfo } from './requests.ts';

/**
 * Answers what belongs to no service: `/`, which leads to the links (without links it is as unknown as the rest),
 * and unknown paths. A GET or HEAD that prefers HTML gets a page, everything else JSON.
 *
 * Where the services have paths under the same first segment, such as `/v1/orders` beside `/v1/users`, programs ask,
 * and the answer is JSON whatever they accept. Unknown paths below a prefix of a service are answered by the service.
 */
export function createFallback(options: { prefixes: readonly string[]; links: readonly Link[] }) {
  const { links } = options;
  const programSegments = new Set(['health', ...options.prefixes.map(firstSegment)]);

  return (request: IncomingMessage, response: ServerResponse, path: string): void => {
    const isHome = path === '/' && links.length > 0;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const mayBePage = isRead && !programSegments.has(firstSegment(path));
    if (mayBePage) response.setHeader('vary', 'accept');
    if (isHome && !isRead) {
      response.setHeader('allow', 'GET, HEAD');
      sendJson(response, 405, problem('method_not_allowed', 'This path takes GET and HEAD.'));
    } else if (mayBePage && prefersHtml(request.headers.accept)) {
      const page = isHome ? homePage(links) : notFoundPage(requestInfo(request).id, links);
      sendPage(response, isHome ? 200 : 404, page);
    } else if (isHome) {
      sendJson(response, 200, homeDocument(links));
    } else {
      sendJson(response, 404, problem('not_found', 'There is nothing here.'));
    }
  };
}

function firstSegment(path: string): string {
  return path.split('/', 2)[1] ?? '';
}

function sendPage(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, { ...PAGE_HEADERS, 'content-length': Buffer.byteLength(html) });
  response.end(html);
}
