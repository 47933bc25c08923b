import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { createFallback } from '@gatehouse/server/fallback';
import { listen } from '@gatehouse/testing/listen';
import type { Link } from '@gatehouse/web/pages';
import t, { type Test } from 'tap';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const PREFIXES = ['/v1/users', '/api/v1/users', '/account', '/openapi/users.json'];
const LINKS: Link[] = [
  { rel: 'related', href: '/account', title: 'Your account' },
  { rel: 'service-desc', href: '/openapi/users.json?a=1&b="2"', title: 'Users & <others>' },
];
const NOT_FOUND = { error: { code: 'not_found', message: 'There is nothing here.' } };

async function serve(t: Test, links: readonly Link[] = LINKS): Promise<string> {
  const fallback = createFallback({ prefixes: PREFIXES, links });
  const server = createServer((request, response) => fallback(request, response, request.url ?? ''));
  return `http://127.0.0.1:${await listen(t, server)}`;
}

const ask = (url: string, accept = BROWSER, method = 'GET') => fetch(url, { method, headers: { accept } });

const UNKNOWN: [path: string, accept: string, method: string, page: boolean][] = [
  ['/nowhere', BROWSER, 'GET', true],
  ['/nowhere/at/all', BROWSER, 'GET', true],
  ['/accounts', BROWSER, 'GET', true],
  ['/v1x', BROWSER, 'GET', true],
  ['//v1', BROWSER, 'GET', true],
  ['/nowhere', BROWSER, 'HEAD', true],
  ['/nowhere', '*/*', 'GET', false],
  ['/nowhere', 'application/json', 'GET', false],
  ['/nowhere', BROWSER, 'POST', false],
  ['/nowhere', BROWSER, 'OPTIONS', false],
  // Programs ask here, whatever they say that they accept.
  ['/v1', BROWSER, 'GET', false],
  ['/v1/orders', BROWSER, 'GET', false],
  ['/api/v2', BROWSER, 'GET', false],
  ['/openapi', BROWSER, 'GET', false],
  ['/health', BROWSER, 'GET', false],
];

t.test('an unknown path is a page for a browser, and JSON for a program', async (t) => {
  const base = await serve(t);
  for (const [path, accept, method, isPage] of UNKNOWN) {
    const response = await ask(base + path, accept, method);
    const label = `${method} ${path} by ${accept}`;
    t.equal(response.status, 404, label);
    t.equal(response.headers.get('cache-control'), 'no-store', label);
    t.match(response.headers.get('content-type'), isPage ? 'text/html' : 'application/json', label);
    const body = await response.text();
    if (!isPage) t.strictSame(JSON.parse(body), NOT_FOUND, label);
    else if (method !== 'HEAD') t.match(body, '<a class="card" href="/account">', label);
  }
});

t.test('a page says nothing of what was asked for but the request id', async (t) => {
  const base = await serve(t);
  const response = await fetch(`${base}/<script>alert(1)</script>?secret`, {
    headers: { accept: BROWSER, 'x-request-id': 'given-1' },
  });
  const html = await response.text();
  t.match(html, 'Request given-1');
  t.notMatch(html, /script|secret/);
});

t.test('a page runs and loads nothing, and its policy lets its own style in', async (t) => {
  const base = await serve(t);
  for (const path of ['/', '/nowhere']) {
    const response = await ask(base + path);
    const html = await response.text();
    const [, style = ''] = /<style>(.*)<\/style>/s.exec(html) ?? [];
    t.match(style, ':root');
    const hash = createHash('sha256').update(style).digest('base64');
    const policy = response.headers.get('content-security-policy')?.split('; ');
    t.strictSame(policy, [
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      'img-src data:',
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ]);
    t.equal(response.headers.get('x-frame-options'), 'DENY');
    t.equal(response.headers.get('referrer-policy'), 'no-referrer');
    t.notMatch(html, / style="|<script|<img|url\(/);
  }
});

t.test('without links the page has none', async (t) => {
  const base = await serve(t, []);
  for (const path of ['/', '/nowhere']) {
    const page = await ask(base + path);
    t.equal(page.status, 404);
    const html = await page.text();
    t.match(html, 'Page not found');
    t.notMatch(html, /<a |<ul/);
    t.strictSame(await (await ask(base + path, '*/*')).json(), NOT_FOUND);
  }
});
