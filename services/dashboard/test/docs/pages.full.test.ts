import t from 'tap';
import { build, heading } from '../build.ts';

const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`;

t.test('pages of the documentation', async (t) => {
  const { base } = await build(t);
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(base + path, { headers: { accept: 'text/html', ...headers } });

  await t.test('no link is dead, no anchor missing, no id there twice, on any page', async (t) => {
    const ids = new Map<string, Set<string>>();
    const links: [from: string, to: string][] = [];
    const waiting = ['/docs'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (ids.has(path)) continue;
      const response = await get(path);
      t.equal(response.status, 200, path);
      const html = await response.text();
      const own = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);
      ids.set(path, new Set(own));
      t.equal(own.length, new Set(own).size, `${path} has each id once`);
      for (const [, href = ''] of html.matchAll(/<a [^>]*href="([^"]+)"/g)) {
        const { pathname, hash, origin } = new URL(href.replaceAll('&amp;', '&'), base + path);
        if (origin !== base || !pathname.startsWith('/docs')) continue;
        links.push([path, pathname + decodeURIComponent(hash)]);
        waiting.push(pathname);
      }
    }
    t.ok(ids.size > 50, `${ids.size} pages`);
    for (const [from, to] of new Map(links.map((it) => [it[1], it])).values()) {
      const [path = '', anchor] = to.split('#');
      if (anchor !== undefined) t.ok(ids.get(path)?.has(anchor), `${from}: ${to}`);
    }
  });

  await t.test('everybody may read and keep them', async (t) => {
    const page = await get('/docs/guides/users-api');
    t.equal(page.headers.getSetCookie().length, 0);
    t.equal(page.headers.get('cache-control'), 'public, no-cache');
    t.match(page.headers.get('content-security-policy'), "script-src 'self'; style-src 'self'");
    const etag = page.headers.get('etag') ?? '';
    t.equal((await get('/docs/guides/users-api', { 'if-none-match': etag })).status, 304);
    for (const encoding of ['br', 'gzip']) {
      const { headers } = await get('/docs/guides/users-api', { 'accept-encoding': encoding });
      t.match([headers.get('content-encoding'), headers.get('vary')], [encoding, /accept-encoding/i]);
    }
    const plain = await get('/docs/guides/users-api', { 'accept-encoding': 'identity' });
    t.equal(plain.headers.get('content-encoding'), null);
    t.equal(await plain.text(), await page.text());
  });

  await t.test('programs read the guides as Markdown, and find them in /llms.txt', async (t) => {
    const index = await get('/llms.txt');
    t.match(index.headers.get('content-type'), 'text/plain; charset=utf-8');
    const links = [...(await index.text()).matchAll(/\]\((\/docs\/guides\/[\w-]+\.md)\)/g)];
    t.ok(links.length > 30, `${links.length} guides`);
    for (const [, href = ''] of links) {
      const guide = await get(href);
      t.match([guide.status, guide.headers.get('content-type')], [200, 'text/markdown; charset=utf-8'], href);
      t.match(await guide.text(), /^# /, href);
    }
    const guide = await get('/docs/guides/build-on-it.md');
    t.match(await guide.text(), base, 'commands go to the deployment');
    const known = { 'if-none-match': guide.headers.get('etag') ?? '' };
    t.equal((await get('/docs/guides/build-on-it.md', known)).status, 304);
    t.equal((await get('/docs/guides/other.md')).status, 404);
  });

  await t.test('an operation has its parameters, body, answers, and a request to copy', async (t) => {
    const html = await (await get('/docs/api/v2-products')).text();
    const operation = /<h2 id="create_v2_products">[\s\S]*?<\/section>/.exec(html)?.[0];
    for (const part of [
      'Create a product',
      'Idempotency-Key',
      '>currency<',
      '>201<',
      '>409<',
      'Access token or API key',
    ]) {
      t.match(operation, part);
    }
    t.match(
      operation?.replaceAll(/<[^>]+>/g, ''),
      `curl &quot;${base}/v2/products&quot; \\\n  -X POST \\\n  -H &quot;Authorization: Bearer $TOKEN&quot;`,
    );
  });

  await t.test('the reference says what its version is, and names each thing once', async (t) => {
    const index = await (await get('/docs/api')).text();
    t.match(index, 'This is version 2.1.0 of the interface');
    const { info } = (await (await get('/openapi/users.json')).json()) as { info: { version: string } };
    t.equal(info.version, '2.1.0');
    t.notMatch(index, 'read_filter_guide', 'a guide is no object');
    t.equal((await get('/docs/api/guides')).status, 404);
  });

  await t.test('a page of the reference begins with its object, and what that is for', async (t) => {
    const index = await (await get('/docs/api')).text();
    const pages = new Set([...index.matchAll(/href="(\/docs\/api\/[^"#]+)/g)].map(([, href = '']) => href));
    t.ok(pages.size > 25, `${pages.size}`);
    for (const path of pages) {
      const html = await (await get(path)).text();
      t.match(html, /<h1>[A-Z][\w .:]+<\/h1>/, path);
      t.match(html, /<div class="lead"><p>(?!Profiles)[^<]{30,}/, path);
    }
    const products = await (await get('/docs/api/v2-products')).text();
    t.match(products, '<h1>Products</h1>');
    t.match(
      products,
      '<code>/v2/products/{id}</code> <span class="alias">or <code>/products/{id}</code></span>',
    );
    t.equal(
      await (await get('/docs/api/products')).text(),
      products,
      'the other path leads to the same page',
    );
    t.notMatch(index, 'href="/docs/api/products');
  });

  await t.test('search leads to guides and operations', async (t) => {
    const html = await (await get('/docs/search?q=list+prodcts')).text();
    t.match(html, 'href="/docs/api/v2-products#list_v2_products"');
    t.match(html, '<mark>products</mark>');
    const hostile = await (await get(`/docs/search?q=${encodeURIComponent(HOSTILE)}`)).text();
    t.notMatch(hostile, /<script>|<img/);
    t.match(await (await get('/docs/search?q=zzzzqqqq')).text(), 'No page matches your search.');
    t.equal((await get('/docs/search')).status, 200);
    t.equal((await get('/docs/search?q=a&q=b')).status, 200);
  });

  await t.test('an unknown page says so', async (t) => {
    for (const path of [
      '/docs/nothing',
      '/docs/guides/nothing',
      '/docs/api/nothing',
      '/docs/guides/..%2f..%2fpackage',
    ]) {
      const response = await get(path);
      t.equal(response.status, 404, path);
      t.equal(heading({ html: await response.text() } as Parameters<typeof heading>[0]), 'Page not found');
    }
  });

  await t.test(
    'while a service is away, pages show the rest, and no program gets a part for the whole',
    async (t) => {
      const json = await fetch(`${base}/openapi.json`);
      t.equal(json.status, 503);
      t.ok(Number(json.headers.get('retry-after')) > 0);
      t.equal(json.headers.get('cache-control'), 'no-store');
      const message = 'The description of notifications is temporarily unavailable.';
      t.same(await json.json(), { error: { code: 'unavailable', message } });
      const page = await (await get('/docs/api')).text();
      t.match(page, 'The description of notifications cannot be loaded.');
      t.match(page, 'href="/docs/api/v1-users"');
    },
  );
});
