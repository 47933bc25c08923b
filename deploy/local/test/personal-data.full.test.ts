import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { jsonRequest } from '@gatehouse/testing/json-request';
import t from 'tap';
import { startGatehouse, temporaryDir, tokenOf } from './gatehouse.ts';

const PASSWORD = 'correct horse battery';
const gatehouse = await startGatehouse(t, temporaryDir(t));
const { base_url: base } = gatehouse.demo;
const machine = await tokenOf(gatehouse);

async function call(method: string, path: string, token: string | undefined, body: unknown) {
  const response = await jsonRequest<{ id: string; token: string }>(method, base + path, { token, body });
  if (response.status < 400) return response.body;
  throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
}

/** Somebody who has written wherever they can, and whose every text has the username in it. */
async function person(username: string, items = 1) {
  const draft = { username, email: `${username}@example.org`, password: PASSWORD };
  const { id } = await call('POST', '/v2/users', machine, draft);
  const { token } = await call('POST', '/api/v1/auth/login', undefined, { username, password: PASSWORD });
  for (let i = 0; i < items; i += 1) {
    await call('POST', '/api/v1/items', token, { name: `${username} ${i}`, value: { price: i } });
  }
  const product = { name: 'Tea', price: 2, currency: 'EUR', category: 'Tea', stock: 9 };
  const { id: product_id } = await call('POST', '/v2/products', machine, product);
  const order = { items: [{ product_id, quantity: 1 }], currency: 'EUR' };
  const { id: ordered } = await call('POST', '/v2/orders', token, order);
  const message = { user_id: id, type: 'email', message: `Dear ${username}` };
  await call('POST', '/v2/notifications', machine, message);
  const application = { name: username, type: 'machine', scopes: ['read:data'] };
  await call('POST', '/api/v1/applications', token, application);
  const hook = { url: 'http://127.0.0.1:9/hook', events: ['order.created'], description: username };
  await call('POST', '/api/v1/webhooks', token, hook);
  return { id, username, order: ordered };
}

async function exported(username: string) {
  const browser = createFormBrowser(base);
  const asked = await browser.get('/account/export');
  const page = await browser.submit(asked, { username, password: PASSWORD });
  const { html } = await browser.submit(page, {}, '/account/export');
  return { text: html, data: JSON.parse(html) };
}

t.test('the file has what every service holds about the person, and nothing of others', async (t) => {
  const ann = await person('annabel', 205);
  const bob = await person('bartholomew');
  // As an admin, Bob sees everything everywhere else.
  await call('PUT', `/v2/users/${bob.id}/role`, machine, { role: 'admin' });
  for (const [own, other, items] of [
    [ann, bob, 205],
    [bob, ann, 1],
  ] as const) {
    const { text, data } = await exported(own.username);
    t.match(data, {
      profile: { id: own.id },
      orders: [{ id: own.order, user_id: own.id }],
      notifications: [{ user_id: own.id }],
      push_subscriptions: [],
      own_applications: [{ name: own.username }],
      webhooks: [{ description: own.username }],
    });
    t.equal(data.items.length, items, 'all pages');
    t.match(new Set(data.items.map(({ name }: { name: string }) => name)).size, items);
    t.notMatch(text, new RegExp(`${other.username}|${other.order}`));
    t.notMatch(text, /whsec_|"secret"/);
  }
});
