import { createWireRow } from '@gatehouse/testing/wire-snapshot';
import t from 'tap';
import { ALL, ANN, build, PRODUCTS } from './build.ts';

/**
 * What goes over the wire for each row of the interface about products and orders (2.6, 2.8 and 4.4): request, status, the headers that
 * mean something, and the body. A snapshot that changes is an interface that changes.
 */

t.snapshotFile = new URL('wire.snapshot.cjs', import.meta.url);

const { issuer, call } = await build(t);
const tokens = {
  machine: await issuer.machine(ALL),
  user: await issuer.person(ANN, 'user', ALL),
  nobody: undefined,
};
const row = createWireRow(call, tokens);
const V1 = '/api/v1/products';
const TEA = { name: 'Green tea', price: 12.5, currency: 'USD', category: 'Tea', stock: 40, sku: 'TEA-1' };

t.test('no products yet', async (t) => {
  for (const path of [PRODUCTS, `${PRODUCTS}?cursor=`, V1, `${V1}?cursor=`, `${V1}/categories`])
    await row(t, 'machine', 'GET', path);
});

t.test('POST', async (t) => {
  for (const who of ['nobody', 'user'] as const) await row(t, who, 'POST', PRODUCTS, TEA);
  await row(t, 'machine', 'POST', PRODUCTS, TEA);
  await row(t, 'machine', 'POST', '/products', {
    name: 'Rice',
    price: 900,
    currency: 'JPY',
    description: 'Short.',
  });
  await row(t, 'machine', 'POST', PRODUCTS, {
    name: 'Dates',
    price: 1.125,
    currency: 'KWD',
    status: 'inactive',
  });
  for (const body of [TEA, {}, { ...TEA, price: 1.005 }, { ...TEA, currency: 'XXX', stock: -1 }, []])
    await row(t, 'machine', 'POST', PRODUCTS, body);
  await row(t, 'machine', 'POST', V1, TEA);
});

t.test('GET, the lists', async (t) => {
  for (const query of [
    '',
    '?limit=2',
    '?limit=2&page=2',
    '?page=9',
    '?limit=2&cursor=',
    '?sort=price&order=desc&limit=1',
    '?filter[price][gte]=12.5&limit=1',
    '?filter[status]=inactive',
    '?category=Tea',
    '?filter[colour]=red',
    '?filter[price]=cheap',
    '?sort=colour',
    '?cursor=x',
    '?limit=101',
  ]) {
    await row(t, 'machine', 'GET', PRODUCTS + query);
  }
  await row(t, 'machine', 'GET', '/products?limit=1');
  for (const query of ['', '?limit=1', '?limit=1&offset=1', '?limit=1&cursor=', '?category=Tea', '?limit=x'])
    await row(t, 'user', 'GET', V1 + query);
  for (const path of [PRODUCTS, '/products', V1]) await row(t, 'user', 'GET', `${path}/categories`);
  for (const path of [PRODUCTS, V1, `${V1}/categories`]) await row(t, 'nobody', 'GET', path);
});

t.test('GET, the search', async (t) => {
  for (const path of [`${PRODUCTS}/search`, '/products/search']) {
    for (const query of ['?q=green te', '?q=tea&cursor=', '?q=nothing', '?q=tea&sort=name', ''])
      await row(t, 'user', 'GET', path + query);
  }
  await row(t, 'user', 'GET', `${V1}?q=tea&limit=1`);
  await row(t, 'nobody', 'GET', `${PRODUCTS}/search?q=tea`);
});

t.test('one product: GET, PUT and DELETE', async (t) => {
  const id = await row(t, 'machine', 'POST', PRODUCTS, { name: 'Black tea', price: 3, currency: 'EUR' });
  const path = `${PRODUCTS}/${id}`;
  for (const who of ['machine', 'user', 'nobody'] as const) await row(t, who, 'GET', path);
  await row(t, 'user', 'GET', `/products/${id}`);
  await row(t, 'user', 'GET', `${PRODUCTS}/prd_unknown`);
  for (const body of [{ price: 3.5, stock: 7 }, { category: 'Tea', sku: 'TEA-2' }, { category: null }, {}])
    await row(t, 'machine', 'PUT', path, body);
  for (const body of [{ currency: 'JPY' }, { sku: 'tea-1' }, { price: 3.555 }, { name: null }])
    await row(t, 'machine', 'PUT', path, body);
  await row(t, 'machine', 'PUT', `/products/${id}`, { stock: 6 });
  await row(t, 'machine', 'PUT', `${PRODUCTS}/prd_unknown`, {});
  await row(t, 'user', 'PUT', path, { stock: 1 });
  await row(t, 'machine', 'PATCH', path, {});
  await row(t, 'machine', 'GET', `${V1}/${id}`);
  await row(t, 'user', 'DELETE', path);
  await row(t, 'machine', 'DELETE', path);
  await row(t, 'machine', 'DELETE', path);
  await row(t, 'machine', 'GET', path);
});

t.test('orders', async (t) => {
  const product = await row(t, 'machine', 'POST', PRODUCTS, { ...TEA, sku: null, stock: 5 });
  const items = [{ product_id: product, quantity: 2 }];
  for (const prefix of ['/v2/orders', '/orders', '/api/v1/orders']) {
    await row(t, 'user', 'GET', prefix);
    const id = await row(t, 'user', 'POST', prefix, { items, currency: 'USD' });
    const path = `${prefix}/${id}`;
    for (const body of [{ items, currency: 'EUR' }, { items: [], currency: 'USD' }, { currency: 'USD' }])
      await row(t, 'user', 'POST', prefix, body);
    await row(t, 'user', 'GET', prefix);
    await row(t, 'user', 'GET', `${prefix}?cursor=`);
    await row(t, 'user', 'GET', `${prefix}?filter[total_amount][gt]=1&filter[status]=pending&limit=1`);
    await row(t, 'user', 'GET', `${prefix}?status=lost`);
    await row(t, 'user', 'GET', path);
    await row(t, 'nobody', 'GET', path);
    await row(t, 'user', 'GET', `${prefix}/ord_unknown`);
    await row(t, 'user', 'PUT', path, { status: 'confirmed' });
    await row(t, 'machine', 'PUT', path, { status: 'confirmed', note: 'Paid.' });
    await row(t, 'machine', 'PUT', path, { status: 'delivered' });
    await row(t, 'machine', 'PUT', path, { status: 'lost' });
    await row(t, 'machine', 'PATCH', `${path}/status`, { status: 'processing' });
    await row(t, 'machine', 'POST', `${path}/status`, { status: 'cancelled' });
    await row(t, 'machine', 'PUT', `${path}/status`, { status: 'pending' });
    await row(t, 'machine', 'DELETE', path);
  }
});
