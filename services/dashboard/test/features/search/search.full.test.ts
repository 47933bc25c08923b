import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '@gatehouse/core/ids';
import type { FormBrowser, Page } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, heading, textOf } from '../../build.ts';

const HOSTILE = `zebra"'><script>alert(1)</script><img src=x onerror=alert(1)>`;

const allHrefs = ({ html }: Page) =>
  [...html.matchAll(/<li><a href="([^"]+)"><bdi>/g)].map(([, href = '']) => href.replace('/dashboard', ''));
/** Without those of the documentation. */
const hrefs = (page: Page) => allHrefs(page).filter((href) => !href.startsWith('/docs'));
const find = (browser: FormBrowser, q: string) =>
  browser.get(`/dashboard/search?${new URLSearchParams({ q })}`);

t.test('the search of the dashboard', async (t) => {
  const built = await build(t, { notifications: true });
  type Who = 'ann' | 'editor' | 'admin';
  type Made = { id: string; client_id: string };
  const make = async (path: string, body: object, as: Who = 'ann') => {
    const { body: made, status } = await built.call<Made>('POST', path, as, body);
    t.ok(status < 300, `${path}: ${JSON.stringify(made)}`);
    return made;
  };
  const { client_id: app } = await make('/api/v1/applications', {
    ...{ name: 'Zebra shop', type: 'machine', scopes: ['read:data'] },
  });
  const { client_id: other } = await make(
    '/api/v1/applications',
    { name: 'Zebra of the admin', type: 'machine', scopes: ['read:data'] },
    'admin',
  );
  const { id: item } = await make('/api/v1/items', { name: 'zebra crossing', value: 1 });
  const { id: product } = await make(
    '/v2/products',
    { name: 'Zebra print', price: 1, currency: 'EUR', stock: 9 },
    'admin',
  );
  const { id: order } = await make('/v2/orders', {
    ...{ items: [{ product_id: product, quantity: 1 }], currency: 'EUR' },
  });
  const { id: webhook } = await make('/api/v1/webhooks', {
    ...{ url: 'https://zebra.example.org/hooks', events: ['order.*'], description: null },
  });
  const { id: resource } = await make('/api/v1/resources', {
    ...{ identifier: 'https://mcp.example.org/mcp', name: 'Zebra facts' },
    scopes: [{ name: 'zebra:read', description: 'Read facts' }],
  });
  const { id: token } = await make('/api/v1/registration-tokens', {
    ...{ name: 'Zebra pipeline', scopes: ['openid'], uses: 1, expires_in: 3600 },
  });
  const { id: invitation } = await make('/api/v1/invitations', { email: 'zebra@example.org' }, 'admin');
  // Signed in now: the overview has the notifications service keep for a while which applications they have.
  const browsers: Record<Who, FormBrowser> = {
    ann: (await built.signedIn('ann')).browser,
    editor: (await built.signedIn('editor')).browser,
    admin: (await built.signedIn('admin')).browser,
  };
  const request = newId('req');
  const users = { ann: `/users/${built.people.ann.id}`, editor: `/users/${built.people.editor.id}` };

  const IDS: [id: string, as: Who, page: string | undefined][] = [
    [app, 'ann', `/applications/${app}`],
    [` ${app} `, 'ann', `/applications/${app}`],
    [other, 'ann', undefined],
    [app, 'admin', `/applications/${app}`],
    [item, 'ann', `/items/${item}`],
    [product, 'ann', `/products/${product}`],
    [order, 'ann', `/orders/${order}`],
    [order, 'admin', `/orders/${order}`],
    [webhook, 'ann', `/webhooks/${webhook}`],
    [webhook, 'editor', undefined],
    [resource, 'ann', `/resources/${resource}`],
    [token, 'ann', `/registration-tokens/${token}`],
    [invitation, 'admin', `/invitations/${invitation}`],
    [invitation, 'ann', undefined],
    [built.people.ann.id, 'admin', users.ann],
    [built.people.editor.id, 'ann', undefined],
    [request, 'ann', `/requests?request_id=${request}`],
    [newId('ord'), 'admin', undefined],
  ];
  for (const [id, as, page] of IDS) {
    const found = await find(browsers[as], id);
    const at = found.url.pathname + found.url.search;
    if (page !== undefined) t.equal(at, `/dashboard${page}`, `${id} leads ${as} to its page`);
    else {
      t.equal(found.url.pathname, '/dashboard/search', `${id} leads ${as} nowhere`);
      t.match(
        textOf(found),
        /No results .* The object does not exist, was deleted, or belongs to another user/,
      );
    }
  }

  const NAMES: [text: string, as: Who, pages: string[]][] = [
    [
      'zebra',
      'ann',
      [`/applications/${app}`, `/registration-tokens/${token}`, `/resources/${resource}`].concat([
        ...[`/webhooks/${webhook}`, `/items/${item}`, `/products/${product}`],
      ]),
    ],
    [
      'ZEBRA',
      'admin',
      [`/applications/${app}`, `/applications/${other}`].concat([
        ...[`/resources/${resource}`, `/products/${product}`],
        `/invitations/${invitation}`,
      ]),
    ],
    ['ann', 'admin', [users.ann]],
    ['editor@ex', 'editor', [users.editor]],
    ['ann', 'ann', []],
    ['audit log', 'ann', ['/audit']],
    ['signing keys', 'ann', []],
    ['signing keys', 'admin', ['/signing-keys']],
    ['new product', 'ann', []],
    ['new product', 'editor', ['/products/new']],
    ['no such thing', 'admin', []],
  ];
  for (const [text, as, pages] of NAMES) {
    const found = await find(browsers[as], text);
    t.equal(found.status, 200);
    t.same(hrefs(found).sort(), pages.sort(), `${text}, as ${as}`);
    t.match(found.html, `id="bar-q" name="q" type="search" value="${text}"`, 'the field keeps the text');
    t.equal(heading(found), 'Search');
  }

  for (const [text, href] of [
    ['protect mcp', '/docs/guides/protect-an-mcp-server'],
    ['conditional requests', '/docs/guides/users-api#conditional-requests'],
    ['rotate signing keys', '/docs/api/api-v1-signing-keys#rotate_api_v1_signing_keys'],
  ] as const) {
    t.ok(allHrefs(await find(browsers.ann, text)).includes(href), text);
  }
  const many = await find(browsers.ann, 'audit log');
  t.ok(allHrefs(many).at(-1)?.startsWith('/docs/'), 'the documentation is below');
  t.match(many.html, '<a href="/docs/search?q=audit+log">More in Documentation</a>');
  t.same(allHrefs(await find(browsers.ann, 'conditinal reqests')), [], 'words without mistakes');

  const { html: intro } = await browsers.ann.get('/dashboard/search');
  t.match(intro, 'Enter an ID');
  t.match((await browsers.ann.get('/dashboard/items')).html, 'action="/dashboard/search"');
  const part = await built.browser({ 'hx-request': 'true' }).get('/dashboard/search?q=x');
  t.equal(part.status, 204, 'htmx is sent to sign in');
  /** The page that a browser of ann's gets from this origin. */
  async function fetched(origin: string, q: string, headers: Record<string, string> = {}): Promise<Page> {
    const url = new URL(`/dashboard/search?${new URLSearchParams({ q })}`, origin);
    const cookie = [...browsers.ann.cookies('/dashboard')].map((pair) => pair.join('=')).join('; ');
    const response = await fetch(url, { headers: { ...headers, cookie }, redirect: 'manual' });
    return { url, status: response.status, html: await response.text(), headers: response.headers };
  }
  const typed = await fetched(built.base, order, { 'hx-request': 'true' });
  t.same(hrefs(typed), [`/orders/${order}`], 'an id is a result while it is typed');

  await make('/api/v1/items', { name: HOSTILE, value: HOSTILE });
  for (const text of [HOSTILE, 'zebra"']) {
    const { html, status } = await find(browsers.ann, text);
    t.equal(status, 200);
    t.match(html, 'zebra&quot;');
    t.notOk(/<script>|<img/.test(html), text);
  }
  t.match((await find(browsers.ann, 'zebra"')).html, 'onerror=alert(1)&gt;', 'the item is found');
  t.equal((await find(browsers.ann, '\u0000 \ud800 %')).status, 200);
  t.equal((await find(browsers.ann, 'x'.repeat(5000))).status, 200);

  const hanging = createServer(() => {}).listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  t.teardown(() => hanging.closeAllConnections());
  t.teardown(() => hanging.close());
  const commerce = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
  const { serviceUrls } = built.config;
  for (const url of ['http://127.0.0.1:1', commerce]) {
    const replica = await built.replica({ serviceUrls: { ...serviceUrls, commerce: url } });
    const page = await fetched(replica, 'zebra');
    // A replica that has just started waits for the service's part of the reference, too.
    t.match(
      textOf(page),
      /Some results may be missing\. These could not be searched: Products(?:, Documentation)?\./,
    );
    t.ok(hrefs(page).includes(`/applications/${app}`), 'the others are there');
  }
});
