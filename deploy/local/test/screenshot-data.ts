import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { latencyBucket } from '@gatehouse/server/metrics/latency';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { databaseUri } from '../src/database-uri.ts';
import type { Demo } from '../src/demo.ts';
import { signInAndAllow } from './clients/set-up.ts';

export type Made = { id: string; client_id: string; client_secret: string; api_key: string };

const PEOPLE = [
  ...['Ann Lee', 'Béla Nagy', 'Chandra Rao', 'Dmitri Orlov', 'Esi Mensah', 'Fatima Zahra', 'Goran Petrović'],
  ...['Hana Novák', 'Inês Duarte', 'Jun Tanaka', 'Katrin Weber', 'Liam Byrne', 'María Gómez', 'Ngozi Eze'],
  ...['Olav Hansen', 'Priya Nair', 'Quentin Roy', 'Rosa Bianchi', 'Sami Virtanen', 'Thandi Dube', 'Uma Iyer'],
  ...['Viktor Lund', 'Wanjiru Kamau', 'Ximena Ríos', 'Yusuf Demir', 'Zofia Kowalska'],
];
const PRODUCTS = [
  ['Earl Grey, 250 g', 12.5, 'Tea', 120, 'TEA-EG-250'],
  ['Sencha, 100 g', 9.9, 'Tea', 40, 'TEA-SE-100'],
  ['Darjeeling first flush, 100 g', 18.4, 'Tea', 25, 'TEA-DA-100'],
  ['Rooibos with vanilla, 200 g', 8.2, 'Tea', 63, 'TEA-RO-200'],
  ['Teapot “Arita”, 0.8 l', 89, 'Pots', 12, 'POT-AR-08'],
  ['Cast-iron kettle, 1.2 l', 119, 'Pots', 7, 'POT-KE-12'],
  ['Café crema, 1 kg', 24.2, 'Coffee', 0, 'COF-CR-1000'],
  ['Espresso “Napoli”, 1 kg', 26.9, 'Coffee', 88, 'COF-NA-1000'],
  ['Hand grinder', 64, 'Tools', 31, 'TOO-GR-01'],
  ['Gooseneck kettle', 79, 'Tools', 15, 'TOO-GO-01'],
  ['Scale, 0.1 g', 34.5, 'Tools', 44, 'TOO-SC-01'],
  ['Matcha whisk', 16, 'Tools', 52, 'TOO-MW-01'],
] as const;
const ITEMS: [name: string, value: unknown][] = [
  ['colours', ['copper', 'stone', 'ink']],
  ['feature flags', { checkout_v2: true, gift_wrapping: false, free_shipping_from: 49.9 }],
  ['opening hours', { monday: '9–17', saturday: '10–14', sunday: null }],
  ['shipping zones', ['DE', 'AT', 'CH', 'NL', 'BE']],
  ['greeting', 'Welcome back!'],
  ['vat rates', { standard: 0.19, reduced: 0.07 }],
  ['newsletter', { list: 'tea-lovers', double_opt_in: true }],
  ['warehouse', { city: 'Hamburg', shelves: 240 }],
];
const WAYS: string[][] = [
  ['confirmed', 'processing', 'shipped', 'delivered'],
  ['confirmed', 'processing', 'shipped'],
  ['confirmed', 'processing'],
  ['confirmed'],
  [],
  ['cancelled'],
  ['confirmed', 'processing', 'shipped', 'delivered', 'refunded'],
];
const NOTES: Record<string, string> = {
  shipped: 'Parcel 0034 0434 1612 0045',
  cancelled: 'The customer ordered twice.',
  refunded: 'The pot arrived broken.',
};
const MESSAGES = [
  'Your order has been shipped. It arrives in two to three days.',
  'Your code is 482 913. It is valid for ten minutes.',
  'Thank you for your order! You find the invoice in your account.',
  'The Sencha that you asked for is back in stock.',
  'We have refunded your payment.',
];
const BROWSERS = [
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36',
];

/** Makes a small tea shop, as if it had been open for a while, through the API; returns what pages are about. */
export async function seed({ base_url: base, admin, machine, api_key: apiKey }: Demo) {
  async function ask<T = Made>(
    method: string,
    path: string,
    body?: unknown,
    as = token,
    agent = 'curl/8.14',
  ): Promise<T> {
    const response = await fetch(base + path, {
      method,
      headers: { 'content-type': 'application/json', 'user-agent': agent, ...(as && { authorization: as }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok && path !== LOGIN) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? {} : JSON.parse(text)) as T;
  }
  let token = '';
  const login = async (username: string, password: string, agent?: string) =>
    `Bearer ${(await ask<{ token: string }>('POST', LOGIN, { username, password }, '', agent)).token}`;
  token = await login(admin.username, admin.password);

  const people: Made[] = [];
  for (const [i, name] of PEOPLE.entries()) {
    const username = name
      .normalize('NFD')
      .replaceAll(/[^A-Za-z ]/g, '')
      .replaceAll(' ', '.')
      .toLowerCase();
    const account = { username, email: `${username}@example.org`, password: PASSWORD };
    const role = i === 1 ? 'editor' : i === 4 ? 'admin' : 'user';
    const made = await ask('POST', '/kb/api/v1/users', { ...account, role });
    const [first_name, last_name] = name.split(' ');
    await ask('PUT', `/v2/users/${made.id}`, { profile: { first_name, last_name } });
    people.push(made);
    if (i < 6) await login(username, PASSWORD, BROWSERS[i % 3]);
  }
  await ask('PUT', `/v2/users/${people[16]?.id}/status`, { status: 'inactive' });
  await login('ann.lee', 'a wrong password', BROWSERS[1]);

  for (const [name, value] of ITEMS) await ask('POST', '/api/v1/items', { name, value });
  const products: Made[] = [];
  for (const [name, price, category, stock, sku] of PRODUCTS) {
    const description = `${name}, packed by hand in our warehouse in Hamburg.`;
    const product = { name, price, category, stock, sku, description, currency: 'EUR' };
    products.push(await ask('POST', '/v2/products', product));
  }
  let order: Made | undefined;
  for (let i = 0; i < 26; i += 1) {
    const lines = [0, 1, 2].slice(0, 1 + (i % 3)).map((n) => {
      const at = [0, 1, 3, 7, 8, 10, 11][(i + n * 2) % 7] ?? 0;
      return { product_id: products[at]?.id, quantity: 1 + ((i + n) % 2) };
    });
    const body = { user_id: people[(i * 5) % people.length]?.id, items: lines, currency: 'EUR' };
    const made = await ask('POST', '/v2/orders', body);
    for (const status of WAYS[i % WAYS.length] ?? []) {
      const note = NOTES[status];
      await ask('PATCH', `/v2/orders/${made.id}/status`, { status, ...(note && { note }) });
    }
    if (i === 7) order = made;
  }

  let notification: Made | undefined;
  for (let i = 0; i < 14; i += 1) {
    const type = i % 5 === 3 ? 'push' : i % 5 === 1 ? 'sms' : 'email';
    const user_id = people[(i * 3) % people.length]?.id;
    const priority = ['normal', 'high', 'low'][i % 3];
    const made = await ask('POST', '/v2/notifications', {
      user_id,
      type,
      priority,
      message: MESSAGES[i % 5],
    });
    if (i === 10) notification = made;
  }
  await ask('PUT', '/api/v1/queues/messages/sms', { paused: true });
  await ask('POST', '/v2/notifications', {
    user_id: people[2]?.id,
    type: 'sms',
    priority: 'low',
    message: MESSAGES[0],
  });

  const uris = ['https://shop.example.org/callback'];
  const scopes = ['openid', 'profile', 'read:data'];
  const make = (body: object) => ask('POST', '/api/v1/applications', body);
  const web = await make({
    ...{ name: 'Tea shop', type: 'web', scopes, redirect_uris: uris, backchannel_logout_uri: LOGGED_OUT },
    post_logout_redirect_uris: ['https://shop.example.org/'],
  });
  await ask('POST', `/api/v1/applications/${web.client_id}/secrets`, { expires_in: 90 * 86_400 });
  const mobile = ['https://m.example.org/'];
  const spa = await make({ name: 'Storefront', type: 'spa', scopes, redirect_uris: mobile });
  for (const [{ client_id }, [redirect_uri = '']] of [
    [web, uris],
    [spa, mobile],
  ] as const) {
    const request = { client_id, redirect_uri, response_type: 'code', scope: scopes.join(' ') };
    const challenge = { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' };
    const url = `/oauth2/authorize?${new URLSearchParams({ ...request, ...challenge })}`;
    await signInAndAllow(createFormBrowser(base), url, { username: 'ann.lee', password: PASSWORD });
  }
  await make({ name: 'Tea on the go', type: 'native', scopes, redirect_uris: ['org.example.tea:/callback'] });
  const ann = await login('ann.lee', PASSWORD, BROWSERS[0]);
  await ask(
    'POST',
    '/api/v1/applications',
    { name: 'Price watch', type: 'machine', scopes: ['read:data'] },
    ann,
  );
  const esi = await login('esi.mensah', PASSWORD, BROWSERS[1]);
  const given = {
    name: 'Tea blog',
    type: 'web',
    scopes,
    redirect_uris: ['https://blog.example.org/callback'],
  };
  const blog = await ask('POST', '/api/v1/applications', given, esi);
  const transfer = await ask(
    'POST',
    `/api/v1/applications/${blog.client_id}/transfer`,
    { to: admin.username },
    esi,
  );
  await make({ name: 'Loyalty API', type: 'resource', scopes: [] });
  await make({
    name: 'Warehouse robot',
    type: 'machine',
    scopes: ['read:data', 'write:data'],
    trusted: true,
  });
  for (const [i, role] of ['developer', 'viewer'].entries()) {
    const member = { user: people[i]?.id, role };
    await ask('POST', `/api/v1/applications/${machine.client_id}/members`, member);
  }
  await ask('POST', `/api/v1/memberships/${machine.client_id}/accept`, undefined, ann);
  for (const name of ['nightly export', 'stock alarm']) {
    const path = `/api/v1/applications/${machine.client_id}/api-keys`;
    const key = await ask('POST', path, { name, scopes: ['read:data'], expires_in: 365 * 86_400 });
    await ask('GET', '/api/v1/items', undefined, `ApiKey ${key.api_key}`);
  }
  await ask('GET', '/api/v1/items', undefined, `ApiKey ${apiKey}`);
  const { client_id, client_secret } = machine;
  await ask('POST', '/oauth/token', { grant_type: 'client_credentials', client_id, client_secret }, '');
  const readOnly = await ask('POST', `/api/v1/applications/${client_id}/api-keys`, {
    ...{ name: 'shop window', scopes: ['read:data'], expires_in: 86_400 },
  });
  const failing = (method: string, path: string, body?: object, as = `ApiKey ${readOnly.api_key}`) =>
    ask(method, path, body, as).catch(() => {});
  await failing('POST', '/v2/orders', { items: [] });
  await failing('GET', '/v2/products?limit=5000');
  await failing('GET', `/v2/orders/${newId('ord')}`);
  const wrong = { grant_type: 'client_credentials', client_id, client_secret: 'of-another-application' };
  await failing('POST', '/oauth/token', wrong, '');

  let report: Made | undefined;
  for (const [type, format] of [
    ['usage', 'json'],
    ['products', 'csv'],
    ['orders', 'csv'],
    ['sales', 'pdf'],
  ]) {
    report = await ask('POST', '/v2/reports/generate', { type, format });
  }
  const hook = { url: `${base}/hooks`, events: ['order.*', 'stock.changed'], description: 'Warehouse' };
  const webhook = await ask('POST', '/api/v1/webhooks', hook);
  await ask('POST', `/api/v1/webhooks/${webhook.id}/test`);
  const { data: items } = await ask<{ data: Made[] }>('GET', '/api/v1/items?cursor=');
  // Of those that need no metadata, which a provider elsewhere would have to send.
  const gitHub = {
    preset: 'github',
    client_id: 'gatehouse',
    client_secret: 'from GitHub',
    domains: ['acme.example'],
  };
  const provider = await ask('POST', '/api/v1/identity-providers', gitHub);
  const issuer = 'https://token.actions.githubusercontent.com';
  const trusted = await ask('POST', '/api/v1/trusted-issuers', {
    ...{ issuer, kinds: ['workload'], preset: 'github' },
  });
  const federated = await ask('POST', `/api/v1/applications/${machine.client_id}/federated-credentials`, {
    ...{ name: 'Deployment of the shop', issuer, subject: 'repo:acme/shop:ref:refs/heads/main' },
    claims: { environment: 'production' },
  });
  const resource = await ask('POST', '/api/v1/resources', {
    ...{ identifier: 'https://mcp.example.org/mcp', name: 'Warehouse' },
    scopes: [{ name: 'stock:read', description: 'Read what is in stock' }],
  });
  const registrationToken = await ask('POST', '/api/v1/registration-tokens', {
    ...{ name: 'Preview environments', scopes: ['openid', 'profile'], uses: 10, expires_in: 604_800 },
  });
  const item = items.at(-3);
  return {
    registrationToken,
    web,
    transfer,
    people,
    products,
    order,
    notification,
    report,
    webhook,
    item,
    provider,
    trusted,
    federated,
    resource,
  };
}

const LOGIN = '/api/v1/auth/login';
const LOGGED_OUT = 'https://shop.example.org/signed-out';
const PASSWORD = 'correct horse battery';

/** The paths of all pages by name. */
export function pathsOf(machine: string, made: Awaited<ReturnType<typeof seed>>): Record<string, string> {
  const {
    registrationToken,
    web,
    transfer,
    people,
    products,
    order,
    notification,
    report,
    webhook,
    item,
    provider,
    trusted,
    federated,
    resource,
  } = made;
  const ofDashboard = {
    overview: '',
    'overview-of-a-day': '?range=24h',
    applications: '/applications',
    'application-types': '/applications/new',
    'new-application': '/applications/new?type=web',
    application: `/applications/${web.client_id}`,
    'application-machine': `/applications/${machine}`,
    'application-branding': `/applications/${web.client_id}/branding`,
    credentials: `/applications/${machine}/credentials`,
    'federated-credential': `/applications/${machine}/credentials?rule=${federated.id}`,
    'quick-start': `/applications/${machine}/quick-start`,
    usage: `/applications/${machine}/usage`,
    'application-users': `/applications/${web.client_id}/users`,
    members: `/applications/${machine}/members`,
    profiles: `/applications/${machine}/profiles`,
    requests: '/requests',
    'requests-filtered': '/requests?status=failed',
    'rate-limits': '/rate-limits',
    branding: '/branding',
    preferences: '/preferences',
    'try-a-request': '/try/create_api_v1_items',
    'try-a-search': '/try/list_v2_products',
    resources: '/resources',
    'registration-tokens': '/registration-tokens',
    'new-registration-token': '/registration-tokens/new',
    'registration-token': `/registration-tokens/${registrationToken.id}`,
    'new-resource': '/resources/new',
    resource: `/resources/${resource.id}`,
    'resource-quick-start': `/resources/${resource.id}/quick-start`,
    'resource-verifiers': `/resources/${resource.id}/verifiers`,
    webhooks: '/webhooks',
    'new-webhook': '/webhooks/new',
    webhook: `/webhooks/${webhook.id}`,
    'webhook-deliveries': `/webhooks/${webhook.id}/deliveries`,
    'confirm-transfer': `/applications/${web.client_id}/transfer`,
    'confirm-trust': `/applications/${machine}/trust`,
    'confirm-deactivate': `/users/${people[0]?.id}/deactivate`,
    'confirm-password-reset': `/users/${people[0]?.id}/password-reset`,
    'confirm-revoke-access': `/users/${people[0]?.id}/revoke-access`,
    'confirm-end-access': `/users/${people[0]?.id}/applications/${web.client_id}/end`,
    'confirm-refund': `/orders/${order?.id}/refund`,
    'confirm-compromised': '/signing-keys/compromised',
    transfer: `/transfers/${transfer.id}`,
    items: '/items',
    item: `/items/${item?.id}`,
    'new-item': '/items/new',
    products: '/products',
    product: `/products/${products[0]?.id}`,
    'import-products': '/products/import',
    orders: '/orders',
    order: `/orders/${order?.id}`,
    notifications: '/notifications',
    notification: `/notifications/${notification?.id}`,
    'new-notification': '/notifications/new',
    reports: '/reports',
    'report-types': '/reports/new',
    'new-report': '/reports/new?type=orders',
    report: `/reports/${report?.id}`,
    users: '/users',
    user: `/users/${people[0]?.id}`,
    'new-user': '/users/new',
    'import-users': '/users/import',
    invitations: '/invitations',
    'new-invitation': '/invitations/new',
    'identity-providers': '/identity-providers',
    'identity-provider-types': '/identity-providers/new',
    'new-identity-provider': '/identity-providers/new?type=openid',
    'identity-provider': `/identity-providers/${provider.id}`,
    'trusted-issuers': '/trusted-issuers',
    'trusted-issuer-types': '/trusted-issuers/new',
    'new-trusted-issuer': '/trusted-issuers/new?type=kubernetes',
    'trusted-issuer': `/trusted-issuers/${trusted.id}`,
    audit: '/audit',
    'signing-keys': '/signing-keys',
    queues: '/queues',
    'dead-letters': '/dead-letters',
    search: '/search?q=tea',
    'search-nothing-found': '/search?q=nobody',
    'nothing-found': '/users?q=nobody',
    'not-found': '/nothing-here',
    'signed-out': '/signed-out',
  };
  const authorization = new URLSearchParams({
    ...{ client_id: web.client_id, response_type: 'code', scope: 'openid profile read:data' },
    redirect_uri: 'https://shop.example.org/callback',
  });
  const entries = Object.entries(ofDashboard).map(([name, at]) => [name, `/dashboard${at}`]);
  return {
    landing: '/',
    ...Object.fromEntries(entries),
    consent: `/oauth2/authorize?${authorization}`,
    error: `/oauth2/authorize?${authorization}/wrong`,
    account: '/account',
    'account-password': '/account/password',
    'confirm-end-credentials': '/account/applications/end-credentials',
    'confirm-revoke-own-access': '/account/applications/revoke-access',
    'account-applications': '/account/applications',
    'account-sessions': '/account/sessions',
    docs: '/docs',
    'docs-guide': '/docs/guides/users-api',
    'docs-api': '/docs/api',
    'docs-operations': '/docs/api/v2-orders',
    'docs-search': '/docs/search?q=cursor',
  };
}

/** Puts usage of the last two days where services count it, as nobody waits for them for a picture. */
export async function seedUsage(uri: string, clientId: string): Promise<void> {
  const logger = createLogger({ name: 'screenshots', level: 'warn', readable: true });
  const database = createDatabase({ uri: databaseUri(uri, 'notifications'), name: 'usage', logger });
  await database.start();
  const buckets = database.connection.collection<{ _id: string }>('analytics_counters');
  const now = Date.now();
  const rows = (['minute', 'hour'] as const).flatMap((interval) => {
    const length = interval === 'minute' ? 60_000 : 3_600_000;
    const shown = interval === 'minute' ? 62 : 25;
    return Array.from({ length: 2 * shown }, (_, at) => {
      const i = at - shown;
      const start = new Date(now - (now % length) + (i - shown) * length);
      return ['*', clientId].flatMap((client) =>
        Object.entries(entriesAt(i, length / 60_000, client === '*' ? 1 : 0.4)).map(([source, entries]) => ({
          ...{ _id: `seed ${interval} ${source} ${client} ${start.toISOString()}`, interval, source, client },
          ...{ start, ...valuesOf(entries), expires_at: new Date(now + 86_400_000) },
        })),
      );
    }).flat();
  });
  await buckets.insertMany(rows, { ordered: false });
  await database.stop();
}

/** Makes the notifications come one after the other in the last hour. */
export async function spreadNotifications(uri: string): Promise<void> {
  const logger = createLogger({ name: 'screenshots', level: 'warn', readable: true });
  const database = createDatabase({ uri: databaseUri(uri, 'notifications'), name: 'spread', logger });
  await database.start();
  const notifications = database.connection.collection<{ _id: string }>('notifications');
  const all = await notifications.find().sort({ _id: 1 }).toArray();
  for (const [i, { _id }] of all.entries()) {
    const created_at = new Date(Date.now() - (((all.length - i) * 213_000) % 3_500_000));
    await notifications.updateOne({ _id }, { $set: { created_at } });
  }
  await database.stop();
}

/** Entries as a bucket of analytics has them, by their labels. */
function valuesOf(entries: { labels: Record<string, string>; counts: number[]; latency?: object }[]) {
  const keyed = entries.map((entry) => ({ ...entry, key: new URLSearchParams(entry.labels).toString() }));
  return {
    counts: Object.fromEntries(keyed.map(({ key, counts }) => [key, { ...counts }])),
    latencies: Object.fromEntries(keyed.map(({ key, latency = {} }) => [key, latency])),
  };
}

/** What happened in one interval of so many minutes: waves, and one incident. */
function entriesAt(i: number, minutes: number, share: number) {
  const wave = 1 + 0.5 * Math.sin(i / 9) + 0.25 * Math.sin(i / 2.3);
  const some = (perMinute: number) => Math.round(perMinute * minutes * share * wave);
  const isIncident = i >= 38 && i <= 41;
  const requests = some(140);
  const failed = isIncident ? Math.round(requests / 14) : 0;
  const slow = isIncident ? 260 : 45 + 12 * Math.sin(i / 4);
  const route = {
    labels: { route: '/v2/products' },
    counts: [requests - failed, some(6), some(4), failed],
    latency: {
      [latencyBucket(9 + 2 * Math.sin(i / 5))]: requests,
      [latencyBucket(slow)]: Math.ceil(requests / 12),
    },
  };
  return {
    commerce: [route, { labels: { counter: 'rate_limited' }, counts: [isIncident ? some(3) : 0] }],
    identity: [
      { labels: { counter: 'tokens_issued' }, counts: [some(22)] },
      { labels: { counter: 'logins' }, counts: [some(7)] },
    ],
    ...(share === 1 && {
      order: [
        {
          labels: { status: 'confirmed', currency: 'EUR' },
          ...{ counts: [some(12)], amount: String(some(12) * 612_500) },
        },
      ],
    }),
  };
}
