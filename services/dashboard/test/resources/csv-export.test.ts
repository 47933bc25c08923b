import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { build } from '../build.ts';

const built = await build(t);
const { browser } = await built.signedIn('admin');
const cookie = [...browser.cookies('/dashboard')].map((pair) => pair.join('=')).join('; ');
const get = (path: string, origin = built.base, signal?: AbortSignal) =>
  fetch(`${origin}/dashboard/${path}`, { headers: { cookie }, redirect: 'manual', signal: signal ?? null });

t.test('the products of a list are had as CSV, as they are searched for', async (t) => {
  for (const [i, name] of ['=1+1', 'Tea; "green"', 'Tea\nblack', 'Pot'].entries()) {
    const product = { name, price: 12.5, currency: 'EUR', stock: i, category: i < 3 ? 'Tea' : 'Pots, old' };
    await built.call('POST', '/v2/products', 'admin', product);
  }
  const list = await browser.get('/dashboard/products?category=Tea&q=tea');
  const href = /id="export" href="([^"]+)"/.exec(list.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
  t.equal(href, '/dashboard/products/export.csv?q=tea&category=Tea');
  const response = await get('products/export.csv');
  t.equal(response.status, 200);
  t.match(response.headers.get('content-type'), 'text/csv');
  t.match(response.headers.get('content-disposition'), /^attachment; filename="products-[\d-]{10}\.csv"$/);
  t.match(response.headers.get('content-security-policy'), 'sandbox');
  const text = await response.text();
  t.match(text, /^id,name,category,sku,price,currency,stock,status,description,created_at\r\n/);
  t.match(text, /,'=1\+1,Tea,,12\.5,EUR,0,active,,\d{4}-/, 'no cell is a formula');
  t.match(text, ',"Tea; ""green""",');
  t.match(text, ',"Tea\nblack",');
  const searched = await (await get(href.slice('/dashboard/'.length))).text();
  t.equal(searched.split('\r\n').length - 2, 3, 'all that are found, and no others');
  t.notMatch(searched, 'Pot');
  t.match(await (await get('products/export.csv?category=Pots%2C+old')).text(), ',Pot,"Pots, old",');
});

t.test('a list of several pages is had as a whole', async (t) => {
  const people = Array.from({ length: 120 }, (_, i) => `person${i}`);
  for (const username of people) {
    const account = { username, email: `${username}@example.org`, password: 'correct horse battery' };
    await built.call('POST', '/kb/api/v1/users', 'admin', account);
  }
  const lines = (await (await get('users/export.csv')).text()).trimEnd().split('\r\n');
  t.equal(lines.shift(), 'id,username,email,role,status,name,created_at');
  t.equal(lines.length, 123);
  t.equal(new Set(lines).size, 123);
  for (const line of lines) {
    t.match(line, /^usr_\w+,(\w+),\1@example\.org,(?:user|editor|admin),active,\1,\d{4}-/);
  }
  t.equal((await (await get('users/export.csv?q=person11')).text()).split('\r\n').length - 2, 11);
});

t.test('what the API refuses is a page, for people without the role, too', async (t) => {
  const refused = await get('products/export.csv?status=nonsense');
  t.equal(refused.status, 400);
  t.match(refused.headers.get('content-type'), 'text/html');
  const { browser: user } = await built.signedIn('ann');
  t.equal((await user.get('/dashboard/users/export.csv')).status, 403);
  const { browser: editor } = await built.signedIn('editor');
  t.equal((await editor.get('/dashboard/users/export.csv')).status, 200);
  const response = await fetch(`${built.base}/dashboard/users/export.csv`, { redirect: 'manual' });
  t.match(response.headers.get('location'), 'sign-in');
});

/** A dashboard whose products come from here: as many pages as are asked for. */
async function withProducts(answer: (page: number, response: ServerResponse) => void) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => answer(asked.push(request), response));
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const commerce = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const origin = await built.replica({ serviceUrls: { ...built.config.serviceUrls, commerce } });
  return { asked, origin };
}
const ROW = { id: 'prd_1', name: 'Tea', description: 'x'.repeat(4000) };
function sendPage(page: number, response: ServerResponse): void {
  response.setHeader('content-type', 'application/json');
  const links = { next: `/v2/products?cursor=${page}` };
  response.end(JSON.stringify({ data: Array(100).fill(ROW), links }));
}

t.test('an error on the way breaks the connection, and an exceeded limit is waited for', async (t) => {
  const { origin, asked } = await withProducts((page, response) => {
    if (page === 2) response.writeHead(429, { 'retry-after': '1' }).end('{}');
    else if (page === 4) response.writeHead(503).end('{}');
    else sendPage(page, response);
  });
  const response = await get('products/export.csv', origin);
  t.equal(response.status, 200);
  await t.rejects(response.text(), 'it does not look complete');
  t.equal(asked.length, 4);
  t.match(asked[2]?.url, 'cursor=1', 'the page that was refused is asked for again');
});

t.test('no more is asked for than is taken, and nothing when the client is gone', async (t) => {
  const { origin, asked } = await withProducts(sendPage);
  const controller = new AbortController();
  const response = await get('products/export.csv', origin, controller.signal);
  const reader = response.body?.getReader();
  await reader?.read();
  await sleep(1000);
  const before = asked.length;
  await sleep(500);
  t.equal(asked.length, before);
  t.ok(asked.length < 100, `${asked.length} pages are on their way`);
  controller.abort();
  await sleep(500);
  const after = asked.length;
  await sleep(500);
  t.equal(asked.length, after);
});
