import { createLocalEvents } from '@gatehouse/events/local-events';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import type { ProductField } from '../src/product.ts';
import { createProductStore } from '../src/store/product-store.ts';
import { ALL, build, PRODUCTS } from './build.ts';

const { call, issuer, mongodbUri, machine } = await build(t);
const editor = await issuer.person('usr_editor', 'editor', ALL);
const TEA = { name: 'Green tea', price: 12.5, currency: 'USD' };

t.test('fields that are wrong are named', async (t) => {
  const cases: [body: object, field: string, message: RegExp][] = [
    [{ price: 12.505 }, 'price', /at most 2 decimals/],
    [{ price: 5.5, currency: 'JPY' }, 'price', /without decimals/],
    [{ price: 1.0005, currency: 'KWD' }, 'price', /at most 3 decimals/],
    [{ price: -1 }, 'price', /at least 0/],
    [{ price: '12' }, 'price', /must be a number/],
    [{ price: 1e13 }, 'price', /from 0/],
    [{ currency: 'usd' }, 'currency', /ISO 4217/],
    [{ currency: 'XAU' }, 'currency', /ISO 4217/],
    [{ currency: null }, 'currency', /must be a string/],
    [{ stock: -1 }, 'stock', /at least 0/],
    [{ stock: 1.5 }, 'stock', /whole number/],
    [{ stock: 1e9 + 1 }, 'stock', /1000000000/],
    [{ name: ' ' }, 'name', /1 to 200 characters/],
    [{ name: 'x'.repeat(201) }, 'name', /1 to 200 characters/],
    [{ name: '\u200b' }, 'name', /visible characters/],
    [{ name: '\u00ad \u3164' }, 'name', /visible characters/],
    [{ sku: '\u200b\u200d' }, 'sku', /visible characters/],
    [{ description: 'x'.repeat(4097) }, 'description', /1 to 4096 characters/],
    [{ category: '' }, 'category', /1 to 100 characters/],
    [{ sku: 'x'.repeat(65) }, 'sku', /1 to 64 characters/],
    [{ status: 'sold' }, 'status', /one of active, inactive/],
  ];
  const { id } = (await call('POST', PRODUCTS, machine, TEA)).body;
  for (const [body, field, message] of cases) {
    for (const [method, path, whole] of [
      ['POST', PRODUCTS, { ...TEA, ...body }],
      ['PUT', `${PRODUCTS}/${id}`, body],
    ] as const) {
      const response = await call(method, path, machine, JSON.stringify(whole));
      const about = `${method} ${JSON.stringify(body).slice(0, 60)}`;
      t.equal(response.status, 400, about);
      t.match(response.body.error.details, [{ field, message }], about);
    }
  }
  const other = await call('PUT', `${PRODUCTS}/${id}`, machine, { currency: 'JPY' });
  t.match(other.body.error?.details, [{ field: 'price', message: /required with another currency/ }]);
  t.match(await call('PUT', `${PRODUCTS}/${id}`, machine, { currency: 'JPY', price: 1500 }), {
    status: 200,
    body: { currency: 'JPY', price: 1500 },
  });
});

t.test('who may do what', async (t) => {
  const tokens = {
    machine,
    editor,
    admin: await issuer.person('usr_admin', 'admin', ALL),
    user: await issuer.person('usr_ann', 'user', ALL),
    'a machine that reads': await issuer.machine('read:all'),
    'a machine without scopes': await issuer.machine('openid'),
    nobody: undefined,
  };
  const EXPECTED: Record<keyof typeof tokens, [read: number, write: number]> = {
    machine: [200, 201],
    editor: [200, 201],
    admin: [200, 201],
    user: [200, 403],
    'a machine that reads': [200, 403],
    'a machine without scopes': [403, 403],
    nobody: [401, 401],
  };
  const { id } = (await call('POST', PRODUCTS, machine, TEA)).body;
  for (const [who, [read, write]] of Object.entries(EXPECTED) as [keyof typeof tokens, [number, number]][]) {
    for (const path of [
      PRODUCTS,
      `${PRODUCTS}/${id}`,
      '/products',
      '/api/v1/products',
      `${PRODUCTS}/categories`,
    ])
      t.equal((await call('GET', path, tokens[who])).status, read, `${who}: GET ${path}`);
    t.equal((await call('POST', PRODUCTS, tokens[who], TEA)).status, write, `${who}: POST`);
    const changed = (await call('PUT', `${PRODUCTS}/${id}`, tokens[who], { stock: 1 })).status;
    t.equal(changed, write === 201 ? 200 : write, `${who}: PUT`);
    if (write !== 201) t.equal((await call('DELETE', `${PRODUCTS}/${id}`, tokens[who])).status, write);
  }
});

t.test('a sku is unique where given, whatever its case, also when many come at once', async (t) => {
  const post = (sku: string | null) => call('POST', PRODUCTS, machine, { ...TEA, sku });
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, i) => post(i % 2 === 0 ? 'a-1' : 'A-1')),
  );
  t.equal(responses.filter(({ status }) => status === 201).length, 1);
  t.equal(responses.filter(({ status }) => status === 409).length, 19);
  const taken = responses.find(({ status }) => status === 201)?.body.id ?? '';
  for (const sku of [null, null]) t.equal((await post(sku)).status, 201, 'none is not taken');
  const { id } = (await post('b-1')).body;
  t.match(await call('PUT', `${PRODUCTS}/${id}`, machine, { sku: 'A-1' }), {
    status: 409,
    body: { error: { code: 'conflict', message: 'This sku is taken.' } },
  });
  t.match(await call('PUT', `${PRODUCTS}/${taken}`, machine, { sku: null }), { status: 200 });
  t.match(
    await call('PUT', `${PRODUCTS}/${id}`, machine, { sku: 'A-1' }),
    { status: 200 },
    'it is free again',
  );
  t.match(await call('GET', `${PRODUCTS}?filter[sku]=a-1`, machine), {
    body: { data: [{ id, sku: 'A-1' }] },
  });
});

t.test('lists by price and category, and categories', async (t) => {
  const { call, machine } = await build(t);
  const prices = [0.1, 100, 9.99, 0.3, 20, 3];
  for (const [i, price] of prices.entries()) {
    const category = ['Tea', 'Coffee', null][i % 3];
    await call('POST', PRODUCTS, machine, { name: `n${i}`, price, currency: 'EUR', category });
  }
  const pricesOf = async (query: string) =>
    (await call('GET', `${PRODUCTS}?${query}`, machine)).body.data.map(({ price }) => price);
  t.same(await pricesOf('sort=price'), [0.1, 0.3, 3, 9.99, 20, 100]);
  t.same(await pricesOf('sort=price&order=desc&filter[price][lt]=9.99'), [3, 0.3, 0.1]);
  t.same(await pricesOf('filter[price]=0.1,100'), [0.1, 100]);
  t.same(await pricesOf('category=Tea'), [0.1, 0.3]);
  const first = (await call('GET', `${PRODUCTS}?sort=price&limit=4&cursor=`, machine)).body;
  const second = (await call('GET', first.links.next ?? '', machine)).body;
  t.same(
    [...first.data, ...second.data].map(({ price }) => price),
    [0.1, 0.3, 3, 9.99, 20, 100],
  );
  const categories = [
    { name: 'Coffee', products: 2 },
    { name: 'Tea', products: 2 },
  ];
  t.same((await call('GET', '/products/categories', machine)).body, { data: categories });
  t.same((await call('GET', '/api/v1/products/categories', machine)).body, categories);
});

t.test('every list is read by an index, in its order', async (t) => {
  const uri = monitored(`${mongodbUri}`);
  const { store, connection } = await startTestDatabase(t, { uri, define: createProductStore });
  const FIELDS: ProductField[] = ['id', 'name', 'category', 'price', 'stock', 'sku', 'status', 'createdAt'];
  for (const field of FIELDS) {
    const query = { conditions: [], sort: { field, descending: true } } as const;
    const plans = await explainQueries(connection, async () => {
      await store.byKeyset(query, { limit: 5 });
      await store.byOffset(query, { limit: 5, offset: 2 });
      await store.categories();
    });
    for (const { stages } of plans) t.notMatch(stages, /COLLSCAN|SORT(?!ING)/, `by ${field}: ${stages}`);
  }
});

t.test('every write is an event, with the version of the product', async (t) => {
  const events = createLocalEvents();
  const seen: unknown[] = [];
  events.subscribe('commerce.product.*', ({ subject, data }) => seen.push([subject, data]));
  const { call, machine } = await build(t, { events });
  const { id } = (await call('POST', PRODUCTS, machine, { ...TEA, stock: 3 })).body;
  await call('PUT', `${PRODUCTS}/${id}`, machine, { stock: 2 });
  await call('DELETE', `${PRODUCTS}/${id}`, machine);
  await until(async () => seen.length >= 3, 5000);
  t.match(seen, [
    ['commerce.product.changed', { id, version: 1, stock: 3, price: 12.5, currency: 'USD' }],
    ['commerce.product.changed', { id, version: 2, stock: 2 }],
    ['commerce.product.deleted', { id, version: 3 }],
  ]);
  t.equal((await call('GET', `${PRODUCTS}/${id}`, machine)).status, 404);
  t.same((await call('GET', PRODUCTS, machine)).body.data, []);
});
