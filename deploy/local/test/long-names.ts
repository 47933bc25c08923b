import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import type { Demo } from '../src/demo.ts';

/** Makes things with names of 64 characters without a blank; returns the paths of their pages. */
export async function seedLongNames({ base_url: base, admin }: Demo): Promise<Record<string, string>> {
  const token = await loginToken(base, admin);
  const make = async (path: string, body: object) => {
    const { status, body: made } = await jsonRequest<Record<string, string>>('POST', base + path, {
      token,
      body,
    });
    if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(made)}`);
    return made;
  };
  const name = 'Donaudampfschifffahrtsgesellschaftskapitaensmuetzenabzeichenbox1';
  const email = `${name}@${name.slice(0, 60)}.example.org`;
  const user = await make('/kb/api/v1/users', {
    username: name,
    email,
    password: admin.password,
    role: 'user',
  });
  const machine = await make('/api/v1/applications', { name, type: 'machine', scopes: ['read:data'] });
  const application = `/api/v1/applications/${machine.client_id}`;
  const { api_key: key } = await make(`${application}/api-keys`, { name, scopes: ['read:data'] });
  await make(`${application}/secrets`, { label: name });
  await make(`${application}/members`, { user: user.id, role: 'developer' });
  await jsonRequest('POST', `${base}/v2/orders`, { token: String(key), body: {} });
  await make('/api/v1/items', { name, value: name });
  const goods = { name, price: 9_999_999.99, currency: 'EUR', category: name, stock: 1, sku: name };
  const product = await make('/v2/products', goods);
  const items = [{ product_id: product.id, quantity: 1 }];
  const order = await make('/v2/orders', { user_id: user.id, items, currency: 'EUR' });
  await make('/v2/notifications', { user_id: user.id, type: 'email', priority: 'low', message: name });
  const hook = { url: `https://${name.slice(0, 60)}.example.org/${name}`, events: ['*'], description: name };
  const webhook = await make('/api/v1/webhooks', hook);
  await make('/api/v1/registration-tokens', { name, scopes: ['openid'], uses: 1, expires_in: 3600 });
  const scopes = [{ name: 'a:b', description: name }];
  await make('/api/v1/resources', { identifier: `https://mcp.example.org/${name}`, name, scopes });
  const paths = {
    'long application': `applications/${machine.client_id}`,
    'long credentials': `applications/${machine.client_id}/credentials`,
    'long members': `applications/${machine.client_id}/members`,
    'long usage': `applications/${machine.client_id}/usage`,
    'long user': `users/${user.id}`,
    'long product': `products/${product.id}`,
    'long order': `orders/${order.id}`,
    'long webhook': `webhooks/${webhook.id}`,
    'long search': `search?q=${name}`,
  };
  return Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, `/dashboard/${path}`]));
}
