import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, textOf } from '../build.ts';
import {
  cookieOf,
  namesOf,
  openImports,
  pageWith,
  productFile,
  productNames,
  start,
  upload,
} from './imports.ts';

// The limits of rates pace imports: 75 rows in a second.
const built = await build(t, { rateLimit: 'on' });
const imports = await openImports(t, built);
const { browser: editor } = await built.signedIn('editor');
const { browser: admin } = await built.signedIn('admin');
const ROWS = 300;

t.test('requests are limited and repeated, and what failed can be cancelled and tried again', async (t) => {
  const posts: { name: string; key: unknown; at: number }[] = [];
  let running = 0;
  let most = 0;
  let isAway = true;
  const server = createServer(async (request, response) => {
    running += 1;
    most = Math.max(most, running);
    const body = Buffer.concat(await request.toArray()).toString();
    await sleep(20);
    running -= 1;
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET') return response.end('{"data":[]}');
    const { name } = JSON.parse(body);
    const isFirst = !posts.some((post) => post.name === name);
    posts.push({ name, key: request.headers['idempotency-key'], at: performance.now() });
    if (name === 'limited' && isFirst) response.writeHead(429, { 'retry-after': '1' }).end('{}');
    else if (name === 'for long' && isAway) response.writeHead(429, { 'retry-after': '3600' }).end('{}');
    else if (name === 'away' && isAway) response.writeHead(503).end('{}');
    else response.writeHead(201).end('{"id":"prd_1"}');
  });
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const commerce = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const origin = await built.replica({ serviceUrls: { ...built.config.serviceUrls, commerce } });
  const browser = createFormBrowser(origin, { cookie: cookieOf(editor) });
  const names = ['limited', 'for long', 'away', ...namesOf('row', 20)];
  const checked = await upload(browser, 'products', productFile(names));
  t.equal(posts.length, 0);
  const repeating = await browser.submit(checked, {}, '/run"');
  await pageWith(browser, repeating, /importing Progress 21 21 of 23 rows/);
  const cancelled = await browser.submit(repeating, {}, '/cancel"');
  t.match(textOf(cancelled), /The import was cancelled Created 21 Changed 0 Unchanged 0 Failed 0 Left 2 /);
  t.ok(most > 1 && most <= 4, `${most}: at most four at a time`);
  const paced = posts.filter(({ name }) => name.startsWith('row ')).map(({ at }) => at);
  t.ok(
    Math.max(...paced) - Math.min(...paced) > (20 / 4_500) * 60_000 * 0.7,
    'as many as three quarters of the rate limit',
  );
  isAway = false;
  const again = await browser.submit(cancelled, {}, '/run"');
  t.match(textOf(again), /The import is complete\. Created 23 .* Failed 0/);
  const keys = Map.groupBy(posts, ({ name }) => name);
  t.equal(new Set(posts.map(({ key }) => key)).size, names.length);
  for (const [name, sent] of keys) t.equal(new Set(sent.map(({ key }) => key)).size, 1, name);
});

t.test('one import of a person runs at a time; cancelled, it says what was done, and goes on', async (t) => {
  const names = namesOf('cancelled', ROWS);
  const running = await start(editor, names);
  await imports.created(running);
  t.match((await editor.get(running.url.pathname)).html, 'hx-trigger="every 1s"', 'it is refreshed');
  const second = await upload(editor, 'products', productFile(['second']));
  t.equal(second.status, 400);
  t.match(textOf(second), /Another import of yours is running\. .*rows\.csv importing 300/);
  t.equal((await admin.get(running.url.pathname)).status, 404, 'nobody else sees it');
  t.match(textOf(await upload(admin, 'products', productFile(['other']))), /To be created 1/);

  const begun = performance.now();
  const cancelled = await editor.submit(running, {}, '/cancel"');
  t.ok(performance.now() - begun < 2000, `it took ${performance.now() - begun} ms`);
  const [, created = '', left = ''] =
    /The import was cancelled Created ([\d,]+) .* Left ([\d,]+)/.exec(textOf(cancelled)) ?? [];
  const count = (text: string) => Number(text.replace(',', ''));
  t.ok(count(created) > 0 && count(left) > 0, textOf(cancelled));
  t.equal(count(created) + count(left), ROWS);
  const made = (await productNames(built.base, admin)).filter((name) => names.includes(name));
  t.equal(made.length, count(created), 'as many as it says');

  const again = await editor.submit(cancelled, {}, '/run"');
  await pageWith(editor, again, /The import is complete\. Created 300/);
  const all = (await productNames(built.base, admin)).filter((name) => names.includes(name));
  t.same(all.toSorted(), names.toSorted(), 'each of them once');
});

t.test('the rows that were refused are a file that can be imported', async (t) => {
  const browser = editor;
  const file = 'name;price;currency;sku\nGood;1,5;EUR;ok-1\n=1+1;free;EUR;bad-1\nTwice;2;EUR;OK-1\nShort;1';
  const done = await browser.submit(await upload(browser, 'products', file), {}, '/run"');
  t.match(textOf(done), /3 rows were not imported .* Created 1 .* Failed 3/);
  const href = /href="([^"]+refused\.csv)"/.exec(done.html)?.[1] ?? '';
  const response = await fetch(`${built.base}${href}`, { headers: { cookie: cookieOf(browser) } });
  t.match(
    response.headers.get('content-disposition'),
    /^attachment; filename="products-refused-[\d-]{10}\.csv"$/,
  );
  t.match(response.headers.get('content-security-policy'), 'sandbox');
  const refused = await response.text();
  t.same(refused.split('\r\n'), [
    'name,price,currency,sku,line,error',
    `'=1+1,free,EUR,bad-1,3,"The price must be a number, such as 12.50."`,
    'Twice,2,EUR,OK-1,4,The SKU is the same as on line 2.',
    'Short,1,,,5,The row has 2 cells instead of 4.',
    '',
  ]);
  const mended = refused.replace('free', '3.5').replace('OK-1', 'ok-2').replace('Short,1,', 'Short,1,EUR');
  const again = await browser.submit(await upload(browser, 'products', mended), {}, '/run"');
  t.match(textOf(again), /The import is complete\. Created 3 /);
  const names = await productNames(built.base, admin);
  for (const name of ['Good', `'=1+1`, 'Twice', 'Short']) {
    t.equal(names.filter((it) => it === name).length, 1, name);
  }
});

t.test('nothing of a file is stored in the clear, and what was imported is not stored at all', async (t) => {
  const browser = editor;
  const done = await browser.submit(
    await upload(browser, 'products', 'name,price,currency\nMarked one,1,EUR\nMarked two,x,EUR'),
    {},
    '/run"',
  );
  const id = done.url.pathname.split('/').at(-1) ?? '';
  const batches = await imports.db
    .collection<{ _id: string }>('import_batches')
    .find({ _id: { $gte: id } })
    .toArray();
  const documents = JSON.stringify([await imports.stored(done), batches]);
  t.notMatch(documents, /Marked|rows\.csv|usr_|eyJ/);
  t.ok(batches.length > 0 && documents.length < 3000, 'one row is kept');
});
