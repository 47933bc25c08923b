import type { FormBrowser } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, PASSWORD } from './build.ts';

const built = await build(t, { notifications: true });
async function call<T = Record<string, unknown>>(...sent: Parameters<typeof built.call>) {
  const { status, body } = await built.call<T>(...sent);
  if (status >= 300) throw new Error(`${sent.slice(0, 3)}: ${status} ${JSON.stringify(body)}`);
  return { body };
}

/** Follows each link in the dashboard, one of those that differ in ids or values alone; returns the clicks that each page takes. */
async function walk(browser: FormBrowser, t: { equal(a: unknown, b: unknown, about: string): unknown }) {
  const clicks = new Map([['/dashboard', 0]]);
  const kindOf = (path: string) =>
    path.replace(/=[^&]*/g, '').replace(/(?<=\/)(?:\w+_)?[0-9a-hjkmnp-tv-z]{26}/g, ':id');
  const kinds = new Set(['/dashboard']);
  for (const [path, count] of clicks) {
    const { status, html, headers } = await browser.get(path);
    t.equal(status, 200, `${path}, after ${count} clicks`);
    if (!headers.get('content-type')?.startsWith('text/html')) continue;
    for (const [, href = ''] of html.matchAll(/<a\b[^>]*\shref="(\/dashboard[^"#]*)/g)) {
      const next = href.replaceAll('&amp;', '&');
      if (next.startsWith('/dashboard/sign-in') || kinds.has(kindOf(next))) continue;
      kinds.add(kindOf(next));
      clicks.set(next, count + 1);
    }
  }
  return new Map([...clicks].map(([path, count]) => [kindOf(path), count]));
}

const application = { name: 'Shop', type: 'machine', scopes: ['read:data', 'write:data'] };
const { body: shop } = await call<{ client_id: string }>('POST', '/api/v1/applications', 'ann', application);
for (const username of ['viewer', 'developer']) {
  await call('POST', '/v2/users', 'admin', {
    username,
    email: `${username}@example.org`,
    password: PASSWORD,
  });
  await call('POST', `/api/v1/applications/${shop.client_id}/members`, 'admin', {
    user: username,
    role: username,
  });
  await call('POST', `/api/v1/memberships/${shop.client_id}/accept`, username);
}
await call('POST', '/api/v1/applications', 'admin', { ...application, name: 'Admin’s' });
const product = { name: 'Tea', price: 2.5, currency: 'EUR', stock: 9 };
const { body: tea } = await call('POST', '/v2/products', 'admin', product);
for (const username of ['ann', 'admin']) {
  await call('POST', '/v2/orders', username, {
    items: [{ product_id: tea.id, quantity: 1 }],
    currency: 'EUR',
  });
  await call('POST', '/api/v1/items', username, { name: username, value: 1 });
  await call('POST', '/api/v1/registration-tokens', username, {
    name: 'Token',
    scopes: ['read:data'],
    uses: 2,
  });
  await call('POST', '/api/v1/webhooks', username, {
    url: 'https://example.org/hook',
    events: ['order.created'],
  });
}
await call('POST', '/v2/reports/generate', 'admin', { type: 'orders', format: 'csv' });
await call('POST', `/api/v1/applications/${shop.client_id}/transfer`, 'ann', { to: 'developer' });
await call('POST', '/api/v1/invitations', 'admin', { email: 'new@example.org' });
await call('POST', '/api/v1/identity-providers', 'admin', {
  preset: 'github',
  client_id: 'x',
  client_secret: 'y',
});

for (const username of ['ann', 'viewer', 'developer', 'editor', 'admin']) {
  t.test(`no link that ${username} sees leads to an error`, async (t) => {
    const { browser } = await built.signedIn(username);
    const clicks = await walk(browser, t);
    t.equal(clicks.size > 15, true, `${clicks.size} pages`);
    if (username !== 'admin') return;
    // The last click of each job is that of the button on the page.
    for (const page of [
      ...[
        '/applications/new?type',
        '/applications/:id/credentials',
        '/webhooks/new',
        '/requests',
        '/rate-limits',
      ],
      ...['/users/:id/deactivate', '/users/:id', '/users/:id/revoke-access', '/invitations/new'],
      ...['/identity-providers/new?type'],
    ]) {
      t.equal(
        (clicks.get(`/dashboard${page}`) ?? 99) <= 3,
        true,
        `${page}: ${clicks.get(`/dashboard${page}`)} clicks`,
      );
    }
  });
}
