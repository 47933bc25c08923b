import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { build, textOf } from '../build.ts';
import { namesOf, openImports, pageWith, start } from './imports.ts';

const built = await build(t);
const imports = await openImports(t, built);

t.test(
  'what fails for more than a minute stops an import, or is left by it, and can be tried again',
  async (t) => {
    const posts: string[] = [];
    let fails = (_name: string) => true;
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      response.setHeader('content-type', 'application/json');
      if (request.method === 'GET') return response.end('{"data":[]}');
      const { name } = JSON.parse(body);
      if (name === 'asks for a sign-in') {
        response.writeHead(401, { 'www-authenticate': 'Bearer error="insufficient_user_authentication"' });
        return response.end('{}');
      }
      if (fails(name)) return response.writeHead(503).end('{}');
      posts.push(name);
      response.writeHead(201).end('{"id":"prd_1"}');
    });
    t.teardown(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const commerce = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    // Of the only process, since each may work on the import.
    Object.assign(built.config.serviceUrls, { commerce });
    const { browser } = await built.signedIn('editor');
    const names = namesOf('row', 250);

    const asks = await start(browser, ['asks for a sign-in']);
    t.match(textOf(asks), 'The API takes a new sign-in for this. Sign in again , and then try again here.');
    t.match(asks.html, `href="/dashboard/sign-in?to=${encodeURIComponent(asks.url.pathname)}&amp;again=yes"`);

    const page = await start(browser, names);
    await imports.ended(page, 150_000);
    const reason = 'A part of Gatehouse could not be reached, or failed.';
    t.match(await imports.stored(page), { state: 'stopped', reason });
    t.match(await pageWith(browser, page, /The import has stopped .* Left 250 /), { status: 200 });
    t.same(posts, []);

    fails = (name) => name === 'row 7';
    await browser.submit(await browser.get(page.url.pathname), {}, '/run"');
    await imports.ended(page, 150_000);
    await pageWith(browser, page, /1 row was not imported .* Created 249 .* Left 1 1 row may be imported/);
    t.equal(posts.length, 249, 'one that always fails stops no other');

    fails = () => false;
    await browser.submit(await browser.get(page.url.pathname), {}, '/run"');
    await pageWith(browser, page, /The import is complete\. Created 250 /);
    t.same(posts.toSorted(), names.toSorted());
  },
);
