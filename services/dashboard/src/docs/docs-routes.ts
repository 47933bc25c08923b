import { createHash } from 'node:crypto';
import { notModified } from '@gatehouse/api/http/conditional';
import { unavailable } from '@gatehouse/core/errors';
import { problem } from '@gatehouse/server/json-response';
import { requestInfo } from '@gatehouse/server/requests';
import { appearance, inAppearance } from '@gatehouse/web/appearance';
import Router from '@koa/router';
import type { Context } from 'koa';
import { type Encoded, sendEncoded } from '../http/encoded.ts';
import { sendPage } from '../http/respond.ts';
import { configurationSchema } from './configuration-schema.ts';
import type { Guide } from './guides/library.ts';
import { llmsText } from './guides/llms-text.ts';
import type { ApiDescription } from './openapi/source.ts';
import { guidePage } from './pages/guide-page.ts';
import { decisionsPage, homePage } from './pages/home-page.ts';
import { type Contents, type DocsPage, docsLayout } from './pages/layout.ts';
import { notFoundPage } from './pages/not-found-page.ts';
import { referenceIndex, referencePage } from './pages/reference-pages.ts';
import { searchPage } from './pages/search-page.ts';
import { topicsOf } from './reference/topics.ts';
import type { DocsSearch } from './search/search.ts';

/** The pages of one state of the API description, made when they are first requested. */
type Edition = {
  api: ApiDescription;
  contents: Contents;
  pages: Map<string, Encoded>;
};

/** The documentation, for everybody: guides, the API reference, a search over both, and the OpenAPI document. */
export function docsRoutes(options: {
  describe: () => Promise<ApiDescription>;
  library: () => readonly Guide[];
  search: DocsSearch;
}): Router {
  const { describe } = options;
  const router = new Router({ sensitive: true });
  // Pages that are kept for everybody differ by the theme only.
  router.use((_, next) => {
    const { theme } = appearance();
    return inAppearance(theme === undefined ? {} : { theme }, next);
  });
  let edition: Edition | undefined;

  async function current(): Promise<Edition> {
    const api = await describe();
    if (edition?.api === api) return edition;
    const contents = { guides: options.library(), topics: topicsOf(api.document) };
    edition = { api, contents, pages: new Map() };
    return edition;
  }

  function show(
    path: string,
    toPage: (edition: Edition, ctx: { path: string }) => DocsPage | undefined,
  ): void {
    router.get(path, async (ctx) => {
      requestInfo(ctx.req).route = path;
      const it = await current();
      const key = `${appearance().theme ?? ''} ${ctx.path}`;
      let encoded = it.pages.get(key);
      if (encoded === undefined) {
        const page = toPage(it, ctx);
        if (page === undefined) return send(ctx, { text: docsLayout(notFoundPage(), it.contents) }, 404);
        encoded = { text: docsLayout(page, it.contents) };
        it.pages.set(key, encoded);
      }
      send(ctx, encoded);
    });
  }

  /** Serves a file that is made from the description of the API. */
  const serveDescribed = (path: string, jsonOf: (description: ApiDescription) => string) => {
    let made: { of: ApiDescription; encoded: Encoded } | undefined;
    router.get(path, async (ctx) => {
      requestInfo(ctx.req).route = path;
      const description = await describe();
      if (isMissing(ctx, description)) return;
      const { etag } = description;
      ctx.set({ etag, 'cache-control': 'public, max-age=300' });
      if (made?.of !== description) made = { of: description, encoded: { text: jsonOf(description) } };
      if (notModified(ctx.req, etag)) ctx.status = 304;
      else sendEncoded(ctx, made.encoded);
    });
  };
  serveDescribed('/openapi.json', ({ json }) => json);
  serveDescribed('/schemas/gatehouse.json', ({ document }) =>
    JSON.stringify(configurationSchema(document, `${document.servers?.[0]?.url}/schemas/gatehouse.json`)),
  );
  show('/docs', ({ contents }) => homePage(contents));
  show('/docs/api', ({ contents, api }) => referenceIndex(contents, api));
  show('/docs/api/:page', ({ contents, api }, ctx) => {
    const pages = contents.topics.flatMap((topic) => topic.pages);
    const page = pages.find(({ hrefs }) => hrefs.includes(ctx.path));
    return page && referencePage(page, api);
  });
  show('/docs/adr', ({ contents }) => decisionsPage(contents));
  router.get('/docs/search', async (ctx) => {
    requestInfo(ctx.req).route = '/docs/search';
    const { contents } = await current();
    const query = typeof ctx.query.q === 'string' ? ctx.query.q.trim().slice(0, 200) : '';
    send(ctx, {
      text: docsLayout(searchPage(query, query === '' ? [] : await options.search(query)), contents),
    });
  });
  router.get('/llms.txt', (ctx) => {
    requestInfo(ctx.req).route = '/llms.txt';
    sendText(ctx, 'text/plain', llmsText(options.library()));
  });
  router.get('/docs/*path', (ctx, next) => {
    const guide = options.library().find(({ href }) => `${href}.md` === ctx.path);
    if (guide === undefined) return next();
    requestInfo(ctx.req).route = '/docs/*path.md';
    sendText(ctx, 'text/markdown', guide.markdown);
  });
  show('/docs/*path', ({ contents }, ctx) => {
    const guide = contents.guides.find(({ href }) => href === ctx.path);
    return guide && guidePage(guide, contents);
  });
  return router;
}

/** Prepares a response with JSON. Returns true after an error, while the description of a service is not there. */
function isMissing(ctx: Context, { missing }: ApiDescription): boolean {
  ctx.set({ 'access-control-allow-origin': '*', 'access-control-expose-headers': 'ETag, Retry-After' });
  ctx.type = 'application/json; charset=utf-8';
  if (missing.length === 0) return false;
  // A client that is generated from a part would lack the rest without anybody noticing.
  const message = `The description of ${missing.join(', ')} is temporarily unavailable.`;
  const { status, headers } = unavailable(message);
  ctx.status = status;
  ctx.set({ ...headers, 'cache-control': 'no-store' });
  ctx.body = problem('unavailable', message);
  return true;
}

/** A text that anybody may keep, and asks for again by its ETag. */
function sendText(ctx: Context, type: string, text: string): void {
  const etag = etagOf(text);
  ctx.type = `${type}; charset=utf-8`;
  ctx.set({ 'access-control-allow-origin': '*', 'cache-control': 'public, no-cache', etag });
  if (notModified(ctx.req, etag)) ctx.status = 304;
  else sendEncoded(ctx, { text });
}

const etagOf = (text: string) => `"${createHash('sha256').update(text).digest('base64url')}"`;

/** A page that anybody may keep, and asks for again by its ETag. */
function send(ctx: Context, encoded: Encoded, status = 200): void {
  const etag = etagOf(encoded.text);
  sendPage(ctx, encoded.text, status);
  ctx.vary('cookie');
  ctx.set({ 'cache-control': 'public, no-cache', etag });
  if (status === 200 && notModified(ctx.req, etag)) ctx.status = 304;
  else sendEncoded(ctx, encoded);
}
