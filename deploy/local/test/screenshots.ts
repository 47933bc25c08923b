import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findChromium, NO_CHROMIUM, startChromium } from '@gatehouse/testing/chromium';
import type { Demo } from '../src/demo.ts';
import { startGatehouse } from './gatehouse.ts';

// `npm run screenshots -- [--minutes MINUTES] [NAME…]`: every page of the dashboard, or those that are named, light, dark
// and on a phone, into docs/screenshots; after so many minutes of traffic, which the plots then show.
const { values: options, positionals: names } = parseArgs({
  options: { minutes: { type: 'string', default: '0' } },
  allowPositionals: true,
});
const OUT = resolve(import.meta.dirname, '../../../docs/screenshots');
const LOOKS = {
  light: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 360, height: 740 }, colorScheme: 'light' },
} as const;
const PEOPLE = ['ann', 'bela', 'chandra', 'dmitri', 'esi', 'fatima', 'goran', 'hana', 'ines', 'jun'];
const PRODUCTS = [
  ['Earl Grey, 250 g', 12.5, 'Tea', 120],
  ['Sencha, 100 g', 9.9, 'Tea', 40],
  ['Teapot “Arita”', 89, 'Pots', 12],
  ['Café crema', 14.2, 'Coffee', 0],
  ['Hand grinder', 64, 'Tools', 31],
] as const;

type Made = { id: string; client_id: string };

const path = findChromium();
if (path === undefined) throw new Error(NO_CHROMIUM);
const ends: (() => unknown)[] = [];
const scope = { teardown: (end: () => unknown) => ends.unshift(end) };
try {
  await takeAll(path);
} finally {
  for (const end of ends) await end();
}

async function takeAll(executable: string): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-screenshots-'));
  scope.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const { demo } = await startGatehouse(scope, dataDir);
  const { base_url: base, admin } = demo;
  const pages = await seed(base, admin);
  await sendTraffic(base, demo, Number(options.minutes));
  const browser = await startChromium(scope, executable);
  await mkdir(OUT, { recursive: true });
  for (const [look, options] of Object.entries(LOOKS)) {
    const context = await browser.newContext({ locale: 'en-GB', ...options });
    const page = await context.newPage();
    await page.goto(`${base}/dashboard`);
    await page.fill('#username', admin.username);
    await page.fill('#password', admin.password);
    await page.click('button.primary');
    await page.waitForURL(`${base}/dashboard`);
    for (const [name, address] of Object.entries(pages)) {
      if (names.length > 0 && !names.includes(name)) continue;
      await page.goto(base + address);
      // The README shows the overview, as it is when one opens it.
      await page.screenshot({ path: join(OUT, `${name}-${look}.png`), fullPage: name !== 'overview' });
    }
    await context.close();
  }
}

/** Requests of a few kinds, in number as in the course of some busy and some quiet quarters of an hour. */
async function sendTraffic(base: string, { machine, admin }: Demo, minutes: number): Promise<void> {
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(base + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const end = Date.now() + minutes * 60_000;
  for (let second = 0; Date.now() < end; second += 1) {
    const { access_token: token } = (await (
      await post('/oauth/token', { grant_type: 'client_credentials', ...machine })
    ).json()) as { access_token: string };
    const headers = { authorization: `Bearer ${token}` };
    const requests = 2 + 2 * Math.sin(second / 140) + 2 * Math.random();
    for (let i = 0; i < requests; i += 1) {
      const path = ['/v2/products?limit=5', '/api/v1/items', '/v1/users?limit=10', '/v2/orders'][i % 4];
      await (await fetch(base + path, { headers })).text();
    }
    if (second % 7 === 0) await (await fetch(`${base}/v2/products/none`, { headers })).text();
    if (second % 5 === 0) await (await post('/api/v1/auth/login', admin)).text();
    if (second % 20 === 0) {
      const product = {
        name: 'Sampler',
        price: 5 + (second % 9),
        currency: 'EUR',
        stock: 9,
        category: 'Tea',
      };
      const { id } = (await (await post('/v2/products', product, headers)).json()) as Made;
      const order = { user_id: admin.user_id, items: [{ product_id: id, quantity: 1 }], currency: 'EUR' };
      await (await post('/v2/orders', order, headers)).text();
    }
    await sleep(1000);
  }
}

/** Something to see on every page; returns the paths of all by name. */
async function seed(
  base: string,
  { username, password }: { username: string; password: string },
): Promise<Record<string, string>> {
  const ask = async <T>(method: string, path: string, body?: unknown, token?: string): Promise<T> => {
    const response = await fetch(base + path, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as T;
  };
  const { token } = await ask<{ token: string }>('POST', '/api/v1/auth/login', { username, password });
  const make = (path: string, body: unknown) => ask<Made>('POST', path, body, token);
  const first = async (path: string) => (await ask<{ data: Made[] }>('GET', path, undefined, token)).data[0];

  for (const name of PEOPLE) {
    const role = name === 'bela' ? 'editor' : 'user';
    await make('/kb/api/v1/users', { username: name, email: `${name}@example.org`, password, role });
  }
  for (const [name, value] of [
    ['colours', ['red', 'green']],
    ['feature flags', { beta: true, limit: 12.5 }],
    ['opening hours', '9–17'],
  ] as const) {
    await make('/api/v1/items', { name, value });
  }
  const products: Made[] = [];
  for (const [name, price, category, stock] of PRODUCTS) {
    products.push(await make('/v2/products', { name, price, category, stock, currency: 'EUR' }));
  }
  let order: Made | undefined;
  for (let i = 0; i < 5; i += 1) {
    const items = [{ product_id: products[i % 3]?.id, quantity: 1 + (i % 2) }];
    order = await make('/v2/orders', { items, currency: 'EUR' });
  }
  const user = await first('/v2/users?cursor=');
  const message = { user_id: user?.id, type: 'email', message: 'Your order has been shipped.' };
  const notification = await make('/v2/notifications', message);
  const uris = ['https://shop.example.org/callback'];
  const scopes = ['openid', 'profile', 'read:data'];
  const web = await make('/api/v1/applications', { name: 'Shop', type: 'web', scopes, redirect_uris: uris });
  const machine = (await first('/api/v1/applications'))?.client_id;
  const item = await first('/api/v1/items?cursor=');
  const ofDashboard = {
    applications: '/applications',
    'application-types': '/applications/new',
    'new-application': '/applications/new?type=web',
    application: `/applications/${web.client_id}`,
    credentials: `/applications/${machine}/credentials`,
    'quick-start': `/applications/${machine}/quick-start`,
    usage: `/applications/${machine}/usage`,
    profiles: `/applications/${machine}/profiles`,
    items: '/items',
    item: `/items/${item?.id}`,
    products: '/products',
    product: `/products/${products[0]?.id}`,
    orders: '/orders',
    order: `/orders/${order?.id}`,
    notifications: '/notifications',
    notification: `/notifications/${notification.id}`,
    reports: '/reports',
    users: '/users',
    user: `/users/${user?.id}`,
    audit: '/audit',
    'signing-keys': '/signing-keys',
    'dead-letters': '/dead-letters',
    'nothing-found': '/users?q=nobody',
    'not-found': '/nothing-here',
    // Last, when there is something to see.
    overview: '',
    'signed-out': '/signed-out',
  };
  const entries = Object.entries(ofDashboard).map(([name, path]) => [name, `/dashboard${path}`]);
  const ofDocs = {
    docs: '/docs',
    'docs-guide': '/docs/guides/users-api',
    'docs-api': '/docs/api',
    'docs-operations': '/docs/api/v2-orders',
    'docs-search': '/docs/search?q=cursor',
  };
  return { landing: '/', ...Object.fromEntries(entries), ...ofDocs };
}
