import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFormBrowser, type FormBrowser } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, textOf } from '../build.ts';
import { namesOf, openImports, pageWith, productFile, upload } from './imports.ts';

const built = await build(t);
const imports = await openImports(t, built);
const { browser: editor } = await built.signedIn('editor');
const { id: editorId } = built.people.editor;
const ROWS = 1000;

/** The number of products; each is read by its name. */
async function productNames(): Promise<string[]> {
  const response = await fetch(`${built.base}/dashboard/products/export.csv`, {
    headers: { cookie: cookieOf((await built.signedIn('admin')).browser) },
  });
  const lines = (await response.text()).trimEnd().split('\r\n').slice(1);
  return lines.map((line) => line.split(',')[1] ?? '');
}
const cookieOf = (browser: FormBrowser) =>
  [...browser.cookies('/dashboard')].map((pair) => pair.join('=')).join('; ');
const start = async (browser: FormBrowser, names: readonly string[]) =>
  browser.submit(await upload(browser, 'products', productFile(names)), {}, '/run"');

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
  const limits = { rateLimit: 'on' } as const;
  const origin = await built.replica({ ...limits, serviceUrls: { ...built.config.serviceUrls, commerce } });
  const browser = createFormBrowser(origin, { cookie: cookieOf(editor) });
  const names = ['limited', 'for long', 'away', ...namesOf('row', 20)];
  const checked = await upload(browser, 'products', productFile(names));
  t.equal(posts.length, 0);
  const repeating = await browser.submit(checked, {}, '/run"');
  await pageWith(browser, repeating, /importing Progress 21 21 of 23 rows/);
  const cancelled = await browser.submit(repeating, {}, '/cancel"');
  t.match(textOf(cancelled), /The import was cancelled Created 21 Changed 0 Unchanged 0 Failed 0 Left 2 /);
  t.equal(most, 4, 'at most four at a time');
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
  t.match(textOf(second), /Another import of yours is running\. .*rows\.csv importing 1,000/);
  const { browser: admin } = await built.signedIn('admin');
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
  const made = (await productNames()).filter((name) => names.includes(name));
  t.equal(made.length, count(created), 'as many as it says');

  const again = await editor.submit(cancelled, {}, '/run"');
  await pageWith(editor, again, /The import is complete\. Created 1,000/);
  const all = (await productNames()).filter((name) => names.includes(name));
  t.same(all.toSorted(), names.toSorted(), 'each of them once');
});

t.test('an import ends with the authority of the person who has started it', async (t) => {
  const set = (path: string, body: object) =>
    built.call('PUT', `/v2/users/${editorId}/${path}`, 'admin', body);
  const ended = 'The session in which it was started has ended.';
  const causes: [what: string, reason: string, end: (browser: FormBrowser) => Promise<unknown>][] = [
    [
      'a sign-out',
      ended,
      async (browser) => browser.submit(await browser.get('/dashboard'), {}, 'sign-out"'),
    ],
    ['another role', 'Your role does not permit it any more.', () => set('role', { role: 'user' })],
    ['a deactivation', ended, () => set('status', { status: 'inactive' })],
    [
      'all access revoked',
      ended,
      () => built.call('POST', `/api/v1/users/${editorId}/revocations`, 'admin', { except: [] }),
    ],
  ];
  for (const [what, reason, end] of causes) {
    await set('role', { role: 'editor' });
    await set('status', { status: 'active' });
    const { browser } = await built.signedIn('editor');
    const { browser: other } = await built.signedIn('editor');
    const page = await start(browser, namesOf(what, ROWS));
    await imports.created(page);
    if (what === 'a sign-out') {
      await other.submit(await other.get('/dashboard'), {}, 'sign-out"');
      t.equal((await imports.stored(page)).state, 'running', 'that of another browser does not');
    }
    await end(browser);
    await imports.ended(page, 3000);
    t.match(await imports.stored(page), { state: 'stopped', reason }, what);
    const now = async () => (await productNames()).filter((name) => name.startsWith(what)).length;
    const made = await now();
    t.ok(made > 0 && made < ROWS, `${what}: ${made} were made`);
    t.equal((await imports.stored(page)).done.create, made, what);
    await sleep(500);
    t.equal(await now(), made, what);
  }
  await set('role', { role: 'editor' });
  const { browser } = await built.signedIn('editor');
  const list = await browser.get('/dashboard/products/import');
  const stopped =
    /href="([^"]+)"><bdi>rows\.csv<\/bdi><\/a><\/div><\/th><td[^>]*><div><span class="status is-bad">/.exec(
      list.html,
    );
  const page = await browser.get(stopped?.[1] ?? '');
  t.match(textOf(page), /The import has stopped The session in which it was started has ended\./);
  const going = await browser.submit(page, {}, '/run"');
  await pageWith(browser, going, /The import is complete\. Created 1,000/);
});

t.test('the rows that were refused are a file that can be imported', async (t) => {
  const { browser } = await built.signedIn('editor');
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
  const names = await productNames();
  for (const name of ['Good', `'=1+1`, 'Twice', 'Short']) {
    t.equal(names.filter((it) => it === name).length, 1, name);
  }
});

t.test('nothing of a file is stored in the clear, and what was imported is not stored at all', async (t) => {
  const { browser } = await built.signedIn('editor');
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
