import { setTimeout as sleep } from 'node:timers/promises';
import type { FormBrowser } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, textOf } from '../build.ts';
import { namesOf, openImports, pageWith, productNames, start } from './imports.ts';

// The limits of rates pace imports: 75 rows in a second.
const built = await build(t, { rateLimit: 'on' });
const imports = await openImports(t, built);
const { browser: admin } = await built.signedIn('admin');
const { id: editorId } = built.people.editor;
const ROWS = 300;

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
    const now = async () =>
      (await productNames(built.base, admin)).filter((name) => name.startsWith(what)).length;
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
  await pageWith(browser, going, /The import is complete\. Created 300/);
});

t.test('an import goes on with another token, as of a person with a new role that may import', async () => {
  const { browser } = await built.signedIn('editor');
  const page = await start(browser, namesOf('promoted', ROWS));
  await imports.created(page);
  await built.call('PUT', `/v2/users/${editorId}/role`, 'admin', { role: 'admin' });
  await pageWith(browser, page, /The import is complete\. Created 300/);
});
