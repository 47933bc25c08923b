// `npm run bench:orders [-- ROUNDS]`: what placing an order costs beside bare-orders.ts, which sends the database the same
// in the same order, and publishes the same events; and what publishing them costs it. The products are many, so that no two
// orders wait for one of them.
import { newId } from '@gatehouse/core/ids';
import { initialsOf } from '@gatehouse/domain/fields';
import { PRODUCT } from '@gatehouse/domain/product-fields';
import { type AuthorizedCall, benchBeside } from '@gatehouse/testing/bench-beside';
import mongoose from 'mongoose';
import { type ProductDocument, storedFields } from '../src/store/product-document.ts';

const rounds = Number(process.argv[2] ?? 20);
const CUSTOMERS = 200;
/** Orders at each server before anything is measured, by which time what they run is compiled. */
const WARM_UP = 1500;
const CONCURRENCY = 32;
const at = new Date();
const ids = Array.from({ length: 2000 }, () => newId('prd'));

function documentOf(id: string, i: number): ProductDocument {
  const product = {
    ...initialsOf(PRODUCT),
    ...{ id, name: `Tea ${i}`, description: 'Black tea of the second flush.', category: 'Tea', price: 1250 },
    ...{ currency: 'USD', stock: 1e9, sku: `TEA-${i}` },
    ...{ version: 1, createdAt: at, updatedAt: at },
  };
  return { ...storedFields(product), _id: id, version: 1, updated_at: at };
}

const bench = {
  name: 'commerce',
  main: new URL('../src/service.ts', import.meta.url).pathname,
  bare: new URL('./bare-orders.ts', import.meta.url).pathname,
  rounds,
  scope: 'write:data',
  title: 'orders',
  settings: { COMMERCE_MAX_PENDING_ORDERS: '10000' },
  nats: true,
  /** The bare server has a database of its own, with the same products and the same indexes. */
  async fill(uri: string) {
    const client = await new mongoose.mongo.MongoClient(uri).connect();
    for (const name of ['products', 'orders']) {
      const indexes = await client.db('commerce').collection(name).indexes();
      const own = indexes.filter(({ name }) => name !== '_id_').map(({ v: _v, ...index }) => index);
      await client.db('bare').collection(name).createIndexes(own);
    }
    for (const name of ['commerce', 'bare'])
      await client.db(name).collection<ProductDocument>('products').insertMany(ids.map(documentOf));
    await client.close();
  },
};

await benchBeside(bench, async ({ service, bare, sign, ask, compare }) => {
  const claims = { client_id: 'app_web', roles: ['user'], scope: 'write:data', exp: Date.now() };
  const tokens = await Promise.all(
    Array.from({ length: CUSTOMERS }, (_, i) => sign({ ...claims, sub: `usr_${i}` })),
  );
  const orderAt = (path: string, lines: number) => (): AuthorizedCall => {
    const first = Math.floor(Math.random() * (ids.length - lines));
    const items = ids.slice(first, first + lines).map((product_id) => ({ product_id, quantity: 1 }));
    const body = JSON.stringify({ items, currency: 'USD' });
    const token = tokens[Math.floor(Math.random() * CUSTOMERS)] ?? '';
    return { method: 'POST', path, body, status: 201, token };
  };
  for (const [server, path] of [
    // First the service, which makes the stream.
    [service, '/v2/orders'],
    [bare, '/publishing'],
  ] as const) {
    const next = orderAt(path, 1);
    const some = async () => {
      for (let i = 0; i < WARM_UP / CONCURRENCY; i += 1) await ask(server, next());
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, some));
  }
  for (const [label, lines] of [
    ['one product', 1],
    ['five products', 5],
  ] as const) {
    await compare({
      [`bare, ${label}`]: { server: bare, next: orderAt('/publishing', lines) },
      [`no events, ${label}`]: { server: bare, next: orderAt('/commerce', lines) },
      [`order, ${label}`]: { server: service, next: orderAt('/v2/orders', lines) },
    });
  }
});
