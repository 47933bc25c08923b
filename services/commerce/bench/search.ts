// `npm run bench:search [-- PRODUCTS [ROUNDS]]`: what a search among so many products (100,000 unless told) costs beside
// bare-server.ts, which finds by one word, without ranking, counting or facets.
import { newId } from '@gatehouse/core/ids';
import { initialsOf } from '@gatehouse/domain/fields';
import { PRODUCT } from '@gatehouse/domain/product-fields';
import { type AuthorizedCall, benchBeside } from '@gatehouse/testing/bench-beside';
import mongoose from 'mongoose';
import { type ProductDocument, storedFields } from '../src/store/product-document.ts';

const total = Number(process.argv[2] ?? 100_000);
const rounds = Number(process.argv[3] ?? 10);
const BATCH = 5000;
const VOCABULARY = 20_000;

/** A word, the first ones more often than the last ones, as in a language. */
const someWord = () => `w${Math.floor(VOCABULARY ** Math.random())}`;

function documentOf(i: number): ProductDocument {
  const at = new Date(Date.parse('2024-01-01T00:00:00Z') + i * 1000);
  const product = {
    ...initialsOf(PRODUCT),
    id: newId('prd'),
    name: `${someWord()} ${someWord()}`,
    description: Array.from({ length: 12 }, someWord).join(' '),
    category: `Category ${i % 40}`,
    price: 100 + (i % 9000),
    currency: 'EUR',
    stock: i % 100,
    sku: `SKU-${i}`,
    version: 1,
    createdAt: at,
    updatedAt: at,
  };
  return { ...storedFields(product), _id: product.id };
}

/** What a service searches for at a time, for callers of whom each has half of it. */
const CONCURRENCY = 4;
const CALLERS = 16;

const bench = {
  name: 'commerce',
  concurrency: CONCURRENCY,
  main: new URL('../src/service.ts', import.meta.url).pathname,
  bare: new URL('./bare-server.ts', import.meta.url).pathname,
  rounds,
  scope: 'read:data',
  title: `${total} products`,
  async fill(uri: string) {
    const client = await new mongoose.mongo.MongoClient(uri, { writeConcern: { journal: false } }).connect();
    const products = client.db('commerce').collection<ProductDocument>('products');
    // Indexes that are built when all is there take a third of the time.
    const indexes = (await products.indexes()).filter(({ name }) => name !== '_id_');
    await products.dropIndexes();
    for (let i = 0; i < total; i += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, total - i) }, (_, n) => documentOf(i + n));
      await products.insertMany(batch, { ordered: false });
    }
    await products.createIndexes(indexes.map(({ v: _v, ...index }) => index));
    await client.close();
  },
};

await benchBeside(bench, async ({ service, bare, compare, sign }) => {
  // Each caller has two searches at a time.
  const tokens = await Promise.all(
    Array.from({ length: CALLERS }, (_, i) =>
      sign({ trusted: true, scope: bench.scope, sub: `app_${i}`, client_id: `app_${i}`, exp: Date.now() }),
    ),
  );
  let requests = 0;
  const get = (path: string): AuthorizedCall => {
    const token = tokens[requests++ % CALLERS] ?? '';
    return { method: 'GET', path, status: 200, token };
  };
  const SEARCH = '/v2/products/search';
  const rareWord = () => `w${VOCABULARY - Math.floor(Math.random() * 5000)}`;
  await compare({
    'bare find, rare word': { server: bare, next: () => get(`/commerce?q=${rareWord()}`) },
    'search, rare word': { server: service, next: () => get(`${SEARCH}?q=${rareWord()}`) },
    'search by cursor': { server: service, next: () => get(`${SEARCH}?q=${rareWord()}&cursor=`) },
  });
  await compare({
    'bare find, any word': { server: bare, next: () => get(`/commerce?q=${someWord()}`) },
    'search, any word': { server: service, next: () => get(`${SEARCH}?q=${someWord()}`) },
    'search, two words': { server: service, next: () => get(`${SEARCH}?q=${someWord()}+${someWord()}`) },
    'search by price': { server: service, next: () => get(`${SEARCH}?q=${someWord()}&sort=price`) },
  });
});
