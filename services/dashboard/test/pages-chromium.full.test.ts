// Runs first, as it takes more than a minute.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  accessibilityViolations,
  bytesOf,
  inChromium,
  openPage,
  type Page,
  pixelsTooWide,
  SCREENS,
  signInTo,
  WALKED_SCREENS,
} from '@gatehouse/testing/chromium';
import { repetitions } from '@gatehouse/testing/repetitions';
import t, { type Test } from 'tap';
import { type Plot, plotGrid, rangePicker } from '../src/features/overview/plots.ts';
import { ASSETS } from '../src/pages/assets.ts';
import { layout } from '../src/pages/layout.ts';
import { build, PASSWORD } from './build.ts';

await inChromium(t, async (browser) => {
  const built = await build(t);
  const url = (address: string) => new URL(address, built.base).href;
  const paths = await seed();

  const signIn = (page: Page, username = 'admin') =>
    signInTo(page, url('/dashboard'), { username, password: PASSWORD });

  // deploy/local/test/dashboard-pages.full.test.ts has every page, on every screen, when all services are there.
  t.test('pages of each type of application, and what is missing when a service is away', async (t) => {
    const { page, complaints } = await openPage(t, browser, SCREENS[1]);
    const profile = { first_name: 'Wilhelmina Theodora', last_name: 'Featherstonehaugh-Cholmondeley' };
    await built.call('PUT', `/v2/users/${built.people.admin.id}`, 'admin', { profile });
    await signIn(page);
    t.match(await page.locator('.menu-name').textContent(), 'Featherstonehaugh', 'a long name');
    for (const path of paths.slice(0, repetitions(paths.length, 1 / 3))) {
      await page.goto(url(path));
      t.same(await accessibilityViolations(page), [], path);
      const tooWide = await pixelsTooWide(page);
      t.equal(tooWide, 0, `${path} is ${tooWide} px too wide`);
      const cut = await page.evaluate<number>(
        "[...document.querySelectorAll('.stacked')].filter((it) => it.scrollWidth > it.clientWidth).length",
      );
      t.equal(cut, 0, `${path}: nothing in a list is cut off`);
      const hidden = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.tabs [aria-current]')].filter((it) => {
          const [tab, strip] = [it.getBoundingClientRect(), it.parentElement.getBoundingClientRect()];
          return tab.left < strip.left - 1 || tab.right > strip.right + 1;
        }).map((it) => it.textContent)`,
      );
      t.same(hidden, [], `${path}: the current tab is in sight`);
    }
    t.same(complaints, []);
  });

  t.test('open details of the audit log widen no table', async (t) => {
    const { page } = await openPage(t, browser, SCREENS[0]);
    const draft = { name: 'Wilhelmina_Theodora', type: 'machine', scopes: ['read:data'] };
    await built.call('POST', '/api/v1/applications', 'admin', draft);
    await signIn(page);
    await page.goto(url('/dashboard/audit?action=application.created'));
    await page.locator('td summary').first().click();
    const [scroll, client] = await page
      .locator('.table')
      .evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth]);
    t.equal(scroll, client);
  });

  t.test('the first view is light and fast, and runs under its policy', async (t) => {
    const { page } = await openPage(t, browser);
    await signIn(page);
    const began = performance.now();
    const response = await page.goto(url('/dashboard/users'), { waitUntil: 'load' });
    const ms = performance.now() - began;
    const bytes = await bytesOf(page);
    t.comment(`${bytes} bytes, ${Math.round(ms)} ms`);
    t.ok(bytes < 300_000, `${bytes} bytes`);
    t.ok(ms < 1000, `${ms} ms`);
    const policy = response?.headers()['content-security-policy'] ?? '';
    t.match(policy, "script-src 'self'; style-src 'self'");
    t.notMatch(policy, /unsafe/);
  });

  t.test('a search shows its results as it is typed, in the URL, too', async (t) => {
    const { page, complaints } = await openPage(t, browser);
    await signIn(page);
    await page.goto(url('/dashboard/users'));
    await page.locator('#search-q').pressSequentially('edi');
    await page.waitForURL('**/users?q=edi*');
    await page.locator('#count', { hasText: '1 user found' }).waitFor();
    t.equal(await page.locator('tbody tr').count(), 1);
    t.equal(await page.inputValue('#search-q'), 'edi', 'the field keeps its focus and its text');
    t.equal(await page.evaluate<string>('document.activeElement?.id'), 'search-q');
    t.match(await page.getAttribute('#export', 'href'), 'export.csv?q=edi', 'the export follows the search');
    await page.selectOption('#search-role', 'admin');
    await page.getByText('Nothing matches this search.').waitFor();
    await page.goBack();
    await page.locator('tbody tr').first().waitFor();
    t.same(complaints, []);
  });

  t.test('the search in the header opens by key, shows results, and is left again', async (t) => {
    const { page, complaints } = await openPage(t, browser);
    await signIn(page);
    await page.goto(url('/dashboard/items'));
    const title = await page.title();
    const focused = () =>
      page.evaluate<string>('document.activeElement?.textContent || document.activeElement?.id');
    t.equal(await page.getAttribute('#bar-q', 'placeholder'), 'Search (Ctrl K)');
    await page.keyboard.press('Control+k');
    t.equal(await focused(), 'bar-q');
    await page.keyboard.type('signing');
    const results = page.locator('#bar-results');
    await results.getByRole('link', { name: 'Signing keys', exact: true }).waitFor();
    t.same(await accessibilityViolations(page), []);
    t.equal(await page.title(), title, 'the page is still the same');
    await page.keyboard.press('ArrowDown');
    t.equal(await focused(), 'Signing keys');
    await page.keyboard.press('ArrowUp');
    t.equal(await focused(), 'bar-q');
    await page.keyboard.press('Escape');
    t.notOk(await results.isVisible());
    t.equal(await focused(), 'bar-q');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('thing 1');
    await page.route('**/search?*', (route) => route.fulfill({ status: 503, body: '' }));
    await results.getByText('The results could not be loaded.').waitFor();
    await page.unroute('**/search?*');
    await page.locator('main').click();
    t.notOk(await results.isVisible(), 'results are shown while the focus is there');
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/search?q=thing+1');
    await page.fill('#bar-q', 'thing 15');
    await page.waitForURL(/\/search\?q=thing(?:\+|%20)15$/);
    t.equal(await page.locator('.hits bdi').first().textContent(), 'thing 15', 'on its page, too');
    t.equal(complaints.filter((it) => !/503/.test(it)).length, 0);
  });

  t.test('a file is checked and imported, with and without script', async (t) => {
    const buffer = Buffer.from(
      `id,name,price,currency\n,${'Long name '.repeat(15)},1,EUR\n,No price,x,EUR\n`,
    );
    for (const javaScriptEnabled of [true, false]) {
      const { page, complaints } = await openPage(t, browser, { ...SCREENS[1], javaScriptEnabled });
      await signIn(page);
      await page.goto(url('/dashboard/products'));
      await page.click('main a:has-text("Import CSV")');
      await page.setInputFiles('#file', { name: 'rows.csv', mimeType: 'text/csv', buffer });
      await page.click('main button.primary');
      await page.locator('text=Nothing has been changed yet.').waitFor();
      const looksRight = async (what: string) => {
        if (!javaScriptEnabled) return;
        t.same(await accessibilityViolations(page), [], what);
        t.equal(await pixelsTooWide(page), 0, what);
      };
      await looksRight('the check');
      await page.click('main button.primary');
      await page.locator('text=1 row was not imported').waitFor();
      await looksRight('the result');
      t.same(complaints, []);
    }
    const { page } = await openPage(t, browser);
    await signIn(page);
    await page.goto(url('/dashboard/products/import'));
    const large = { name: 'rows.csv', mimeType: 'text/csv', buffer: Buffer.alloc(10 * 1024 ** 2 + 1, 'x') };
    await page.setInputFiles('#file', large);
    const message = () => page.evaluate<string>("document.querySelector('#file').validationMessage");
    t.equal(await message(), 'The file is larger than 10 MiB.');
    await page.setInputFiles('#file', { ...large, buffer });
    t.equal(await message(), '');
  });

  t.test('a form is sent once, and again after a return to it', async (t) => {
    const { page } = await openPage(t, browser);
    await signIn(page);
    await page.goto(url('/dashboard/applications/new?type=machine'));
    await page.fill('#name', 'clicked twice');
    const submit = page.locator('.wide-form button.primary');
    await page.evaluate(`window.sent = 0; addEventListener('submit', (event) => {
      window.sent += 1;
      event.preventDefault();
    })`);
    await submit.dblclick();
    t.equal(await page.evaluate<number>('window.sent'), 1);
    t.ok(await submit.isDisabled());
    await page.evaluate(`dispatchEvent(new Event('pageshow'))`);
    await submit.click();
    t.equal(await page.evaluate<number>('window.sent'), 2);
  });

  t.test('content that is loaded in the background never erases a page', async (t) => {
    const { page } = await openPage(t, browser);
    await signIn(page);
    const href = paths.find((it) => it.endsWith('/usage')) ?? '';
    const responses = [
      { status: 503, body: '<title>Temporarily unavailable</title><main></main>' },
      { status: 200, body: '<title>Usage</title><main><p>It cannot be shown.</p></main>' },
    ];
    for (const reply of responses) {
      await page.goto(url(href));
      const title = await page.title();
      let asked = 0;
      await page.route('**/usage?*', async (route) => {
        asked += 1;
        if (asked === 1) await route.fulfill({ ...reply, contentType: 'text/html' });
        else await route.continue();
      });
      await page.locator('.stale').waitFor({ timeout: 20_000 });
      t.equal(await page.locator('#usage').count(), 1, `${reply.status}`);
      t.equal(await page.title(), title);
      await page.locator('.stale').waitFor({ state: 'detached', timeout: 20_000 });
      t.equal(await page.locator('#usage').count(), 1, 'it is loaded anew');
      await page.unroute('**/usage?*');
    }
  });

  t.test('by keyboard alone', async (t) => {
    const { page } = await openPage(t, browser);
    await signIn(page);
    await page.keyboard.press('Tab');
    t.equal(await page.evaluate<string>('document.activeElement?.textContent'), 'Skip to the content');
    await page.keyboard.press('Enter');
    t.equal(await page.evaluate<string>('document.activeElement?.id'), 'main');
    await page.locator('.menu summary').focus();
    await page.keyboard.press('Enter');
    t.equal(await page.locator('.menu[open]').count(), 1);
    await page.keyboard.press('Tab');
    t.equal(await page.evaluate<string>('document.activeElement?.textContent'), 'Your account');
    await page.keyboard.press('Escape');
    t.equal(await page.locator('.menu[open]').count(), 0);
    t.match(await page.evaluate<string>('document.activeElement?.tagName'), 'SUMMARY');
  });

  t.test('without script, too', async (t) => {
    const { page } = await openPage(t, browser, { javaScriptEnabled: false });
    await signIn(page, 'ann');
    await page.goto(url('/dashboard/items'));
    await page.fill('#bar-q', 'thing 15');
    await page.press('#bar-q', 'Enter');
    await page.locator('.hits a', { hasText: 'thing 15' }).click();
    t.equal(await page.locator('h1').textContent(), 'thing 15');
    await page.goto(url('/dashboard/items'));
    await page.fill('#search-q', 'thing 1');
    await page.click('.search button');
    t.match(page.url(), 'q=thing');
    t.match(await page.locator('#count').textContent(), /found/);
    await page.click('.side summary').catch(() => {});
    t.ok(await page.locator('nav.side a[href="/dashboard/orders"]').count());
  });

  t.test('a plot is drawn from its table, under the policy of the pages', async (t) => {
    const at = (i: number) => new Date(Date.UTC(2026, 0, 31, 12, i)).toISOString();
    const series = {
      ...{ metric: 'requests', from: at(0), to: at(60), interval: 'minute', as_of: at(59), total: 1830 },
      data: Array.from({ length: 60 }, (_, i) => ({ at: at(i), value: i % 13 === 0 ? null : i })),
    };
    const plots: Plot[] = [
      { title: 'Requests', unit: 'count', lines: [{ name: 'Requests', outcome: { value: series } }] },
    ];
    const address = await servePlots(t, plots);
    for (const screen of WALKED_SCREENS) {
      const { page, complaints } = await openPage(t, browser, screen);
      await page.goto(address);
      await page.locator('.plot canvas').waitFor();
      await page.locator('.plot summary').click();
      t.equal(await page.locator('.plot tbody tr').count(), 60);
      t.same(await accessibilityViolations(page), []);
      t.same(complaints, []);
    }
  });

  t.test(
    'a plot shows single values, and reads them out by pointer and by key, in the zone of the reader',
    async (t) => {
      const at = (hour: number) => new Date(Date.UTC(2026, 0, 31, hour)).toISOString();
      const outcomeOf = (values: (number | null)[]) => ({
        value: {
          ...{ metric: 'requests', from: at(0), to: at(24), interval: 'hour', as_of: at(24), total: 1 },
          data: values.map((value, i) => ({ at: at(12 + i), value })),
        },
      });
      const plots: Plot[] = [
        { title: 'Requests', unit: 'count', lines: [{ name: 'Requests', outcome: outcomeOf([1204]) }] },
        { title: 'Orders', unit: 'count', lines: [{ name: 'Orders', outcome: outcomeOf([0, 0, 7, 0, 0]) }] },
        {
          title: 'Latency',
          unit: 'ms',
          lines: [{ name: 'p95', outcome: outcomeOf([null, 31, null, null]) }],
        },
      ];
      const address = await servePlots(t, plots);
      const { page, complaints } = await openPage(t, browser, { ...SCREENS[0], timezoneId: 'Asia/Tokyo' });
      await page.goto(address);
      await page.locator('.plot canvas').nth(2).waitFor();
      for (const title of ['Requests', 'Orders', 'Latency']) {
        const inked = await page.evaluate<number>(`(() => {
        const figure = [...document.querySelectorAll('.plot')].find((it) => it.textContent.includes('${title}'));
        const canvas = figure.querySelector('canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const ink = getComputedStyle(figure).getPropertyValue('--accent').trim();
        const rgb = [1, 3, 5].map((i) => parseInt(ink.slice(i, i + 2), 16));
        let count = 0;
        for (let i = 0; i < data.length; i += 4) if (rgb.every((it, at) => data[i + at] === it)) count += 1;
        return count;
      })()`);
        t.ok(inked > 8, `${title}: ${inked} pixels`);
      }
      const readout = (nth: number) => page.locator('.plot .readout').nth(nth).textContent();
      await page.locator('.plot .canvas').first().hover();
      t.equal(await readout(0), '31 Jan, 21:00: Requests 1,204');
      await page.locator('.plot .canvas').nth(1).focus();
      t.equal(await readout(1), '1 Feb, 01:00: Orders 0');
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowLeft');
      t.equal(await readout(1), '31 Jan, 23:00: Orders 7');
      t.equal(await page.locator('time').first().textContent(), '31 Jan 2026, 21:00');
      const widths = () =>
        page.evaluate<number[]>(
          "[...document.querySelectorAll('.canvas')].map((it) => it.firstElementChild.clientWidth)",
        );
      const before = await widths();
      await page.evaluate("document.dispatchEvent(new Event('htmx:afterSettle'))");
      t.same(await widths(), before, 'drawn again, for a search for example, plots are as wide');
      t.same(await accessibilityViolations(page), []);
      t.same(complaints, []);
    },
  );

  /** Serves a page with these plots under the policy of the pages; returns its address. */
  async function servePlots(t: Test, plots: readonly Plot[]): Promise<string> {
    const person = { id: 'usr_1', name: 'Ann', role: 'admin' as const };
    const body = [rangePicker('/dashboard', '1h'), plotGrid(plots)];
    const html = layout(
      { title: 'Plots', section: 'overview', charts: true, body },
      { person, csrf: 'x' },
      [],
    );
    const policy =
      (await fetch(url('/'), { headers: { accept: 'text/html' } })).headers.get('content-security-policy') ??
      '';
    const server = createServer((request, response) => {
      const asset = ASSETS.get(request.url ?? '');
      const type =
        asset === undefined ? 'text/html' : asset.path.endsWith('.css') ? 'text/css' : 'text/javascript';
      response.writeHead(200, {
        'content-type': `${type}; charset=utf-8`,
        'content-security-policy': policy,
      });
      response.end(asset?.text ?? html);
    }).listen(0, '127.0.0.1');
    t.teardown(() => server.close());
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  /** Something to see; returns paths of pages. */
  async function seed(): Promise<string[]> {
    type Made = { id: string; client_id: string };
    const make = async (path: string, body: unknown, username = 'admin') =>
      (await built.call<Made>('POST', path, username, body)).body;
    for (let i = 0; i < 25; i += 1) await make('/api/v1/items', { name: `thing ${i}`, value: { i } }, 'ann');
    const scopes = ['openid', 'read:data'];
    const uris = ['https://web.example.org/callback'];
    const web = await make('/api/v1/applications', { name: 'Web', type: 'web', scopes, redirect_uris: uris });
    const spa = await make('/api/v1/applications', {
      name: 'Page',
      type: 'spa',
      scopes,
      redirect_uris: uris,
    });
    const machine = await make('/api/v1/applications', {
      name: 'Job',
      type: 'machine',
      scopes: ['read:data'],
    });
    await make(`/api/v1/applications/${machine.client_id}/api-keys`, {
      name: 'export',
      scopes: ['read:data'],
    });
    const issuer = await make('/api/v1/trusted-issuers', {
      ...{ issuer: 'https://token.actions.githubusercontent.com', kinds: ['workload'], preset: 'github' },
    });
    await make(`/api/v1/applications/${machine.client_id}/federated-credentials`, {
      ...{ name: 'Deployment of the shop', issuer: 'https://token.actions.githubusercontent.com' },
      ...{ subject: 'repo:acme/shop:ref:refs/heads/main', claims: { environment: 'production' } },
    });
    const ofApplications = [web, spa, machine].flatMap(({ client_id: id }) =>
      ['', '/branding', '/credentials', '/quick-start', '/usage', '/users', '/members', '/profiles'].map(
        (it) => `/applications/${id}${it}`,
      ),
    );
    const user = `/users/${built.people.ann.id}`;
    const others = ['', '/items', '/notifications', '/reports', '/queues', '/dead-letters'].concat([
      ...[user, `${user}/password-reset`],
      '/branding',
      '/preferences',
      '/try/create_api_v1_items',
      '/try/oauth2_token',
      '/try/remove_v2_users',
      ...['', '/new', '/new?type=kubernetes', `/${issuer.id}`].map((it) => `/trusted-issuers${it}`),
    ]);
    return [...ofApplications, ...others].map((it) => `/dashboard${it}`);
  }
});
