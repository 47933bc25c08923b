import assert from 'node:assert/strict';
import { newId } from '@gatehouse/core/ids';
import { initialsOf } from '@gatehouse/domain/fields';
import type { Position } from '@gatehouse/domain/list-query';
import { PRODUCT } from '@gatehouse/domain/product-fields';
import { wordsOf } from '@gatehouse/domain/search-words';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { repetitions } from '@gatehouse/testing/repetitions';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import fc from 'fast-check';
import mongoose from 'mongoose';
import t from 'tap';
import { type ProductDocument, productOf, storedFields } from '../src/store/product-document.ts';
import { createProductStore } from '../src/store/product-store.ts';
import { build } from './build.ts';

const { call, document, machine } = await build(t);
const SEARCH = '/v2/products/search';
type Documented = { paths: Record<typeof SEARCH, { get: { parameters: { name: string }[] } }> };

const EXAMPLE = {
  ...initialsOf(PRODUCT),
  ...{ category: 'Tea', currency: 'EUR', stock: 1 },
  version: 1,
};
const PRODUCTS = [
  { name: 'Green tea', category: 'Tea', price: 5 },
  { name: 'Black tea', category: 'Tea', price: 3 },
  { name: 'Cup', category: 'Dishes', price: 8, description: 'For green tea of all kinds.' },
  { name: 'Café crème', category: 'Coffee', price: 4, sku: 'CC-9' },
  { name: 'Teapot', category: 'Dishes', price: 30 },
  { name: '日本茶', price: 9, description: '$words {"$gt": ""}' },
  { name: 'Straße', price: 1, status: 'inactive' },
];
for (const product of PRODUCTS) {
  await call('POST', '/v2/products', machine, { currency: 'EUR', ...product });
}

const namesOf = async (query: string) =>
  (await call('GET', `${SEARCH}?${query}`, machine)).body.data.map(({ name }) => name);

t.test('words', async (t) => {
  const cases: [text: string, words: string[]][] = [
    ['Green TEA, green tea!', ['green', 'tea']],
    ['Café crème', ['cafe', 'creme']],
    ['STRASSE Straße', ['strasse']],
    ['TEA-1 it’s 12.5', ['tea', '1', 'it’s', '12.5']],
    ['ｆｕｌｌ', ['full']],
    ['नमस्ते', ['नमस्ते']],
    ['!!! — …', []],
    ['', []],
  ];
  for (const [text, words] of cases) t.strictSame(wordsOf(text), words, text);
  t.equal(wordsOf(Array.from({ length: 1000 }, (_, i) => `w${i}`).join(' ')).length, 300);
  t.equal(wordsOf('x'.repeat(100))[0]?.length, 40);
});

t.test('the matches and their order', async (t) => {
  const cases: [query: string, names: string[]][] = [
    ['q=tea', ['Green tea', 'Black tea', 'Teapot', 'Cup']],
    ['q=TEA', ['Green tea', 'Black tea', 'Teapot', 'Cup']],
    ['q=green te', ['Green tea', 'Cup']],
    ['q=te green', []],
    ['q=tea green', ['Green tea', 'Cup']],
    ['q=cafe', ['Café crème']],
    ['q=cc-9', ['Café crème']],
    ['q=strasse', ['Straße']],
    [`q=${encodeURIComponent('日本')}`, ['日本茶']],
    ['q=$words', ['日本茶']],
    ['q=tea&sort=price', ['Black tea', 'Green tea', 'Cup', 'Teapot']],
    ['q=tea&sort=price&order=desc&filter[price][lt]=30', ['Cup', 'Green tea', 'Black tea']],
    ['q=tea&sort=created_at&order=desc', ['Teapot', 'Cup', 'Black tea', 'Green tea']],
    ['q=tea&category=Dishes', ['Teapot', 'Cup']],
    ['q=s&filter[status]=active', []],
    ['q=%20!', []],
    ['q=tea&page=2&limit=3', ['Cup']],
  ];
  for (const [query, names] of cases) t.strictSame(await namesOf(query), names, query);
  const { body } = await call('GET', `${SEARCH}?q=tea&limit=1`, machine);
  t.match(body, {
    meta: { total: 4, pages: 4 },
    facets: {
      category: [
        { value: 'Dishes', count: 2 },
        { value: 'Tea', count: 2 },
      ],
    },
  });
  for (const query of ['', '?q=', '?q=tea&sort=name', `?q=${'x'.repeat(257)}`, '?filter[q][gt]=a'])
    t.equal((await call('GET', SEARCH + query, machine)).status, 400, query);
  const missing = await call('GET', `${SEARCH}?category=Tea`, machine);
  t.match(missing.body, { error: { details: [{ field: 'q', message: 'is required' }] } });
  t.equal(missing.body.error.details?.length, 1);
  t.equal((await call('GET', `${SEARCH}?filter[q]=tea`, machine)).status, 200, 'in the other form');
  const { parameters } = (document as Documented).paths[SEARCH].get;
  t.match(
    parameters.find(({ name }) => name === 'q'),
    { required: true, description: /^Words that must all be found/ },
  );
  const v1 = await call('GET', '/api/v1/products?q=tea&limit=2', machine);
  t.match(v1.body, [{ name: 'Green tea' }, { name: 'Black tea' }]);
});

t.test('a change changes what is found', async (t) => {
  const { id } = (
    await call('POST', '/v2/products', machine, { name: 'Xylophone', price: 1, currency: 'EUR' })
  ).body;
  t.strictSame(await namesOf('q=xylo'), ['Xylophone']);
  await call('PUT', `/v2/products/${id}`, machine, { name: 'Zither' });
  t.strictSame([await namesOf('q=xylo'), await namesOf('q=zith')], [[], ['Zither']]);
  await call('DELETE', `/v2/products/${id}`, machine);
  t.strictSame(await namesOf('q=zith'), []);
});

t.test('by cursor, in any sort and page size: every product once, forwards and backwards', async () => {
  const walk = fc.asyncProperty(
    fc.constantFrom('tea', 'green', 'e', 'c', 's'),
    fc.constantFrom(
      '',
      '&sort=price',
      '&sort=price&order=desc',
      '&sort=created_at',
      '&sort=relevance&order=desc',
    ),
    fc.integer({ min: 1, max: 5 }),
    async (q, sort, limit) => {
      const all = await namesOf(`q=${q}${sort}`);
      const forwards: string[] = [];
      let { body } = await call('GET', `${SEARCH}?q=${q}${sort}&limit=${limit}&cursor=`, machine);
      for (;;) {
        forwards.push(...body.data.map(({ name }) => name));
        assert.equal(body.meta.totalItems, all.length);
        if (body.links.next === undefined) break;
        body = (await call('GET', body.links.next, machine)).body;
      }
      assert.deepEqual(forwards, all);
      const backwards = body.data.map(({ name }) => name);
      while (body.links.prev !== undefined) {
        body = (await call('GET', body.links.prev, machine)).body;
        backwards.unshift(...body.data.map(({ name }) => name));
      }
      assert.deepEqual(backwards, all);
    },
  );
  await fc.assert(walk, { numRuns: repetitions(100) });
});

t.test('many matches', async (t) => {
  const { call, machine, mongodbUri } = await build(t);
  const client = await new mongoose.mongo.MongoClient(mongodbUri).connect();
  t.teardown(() => client.close());
  const at = new Date();
  const documents = Array.from({ length: 1100 }, (_, i): ProductDocument => {
    const product = {
      ...EXAMPLE,
      id: newId('prd'),
      name: `Many ${i}`,
      price: i,
      createdAt: at,
      updatedAt: at,
    };
    return { _id: product.id, ...storedFields(product) };
  });
  await client.db().collection<ProductDocument>('products').insertMany(documents);

  t.test('are counted up to a thousand, and found beyond', async (t) => {
    const page = (query: string) => call('GET', `${SEARCH}?q=many&limit=50&${query}`, machine);
    t.match((await page('')).body, {
      meta: { total: 1000, pages: 20 },
      facets: { category: [{ value: 'Tea', count: 1000 }] },
    });
    t.match((await page('page=21')).body.data.map(({ name }) => name).at(-1), 'Many 1049');
    t.match(await page('page=22'), { status: 400, body: { error: { details: [{ field: 'page' }] } } });
    t.match((await page('sort=price&order=desc')).body.data[0], { name: 'Many 1099' });
  });

  t.test('each page, by number and by cursor, reads a bounded part of indexes', async (t) => {
    const { store, connection } = await startTestDatabase(t, {
      uri: monitored(mongodbUri),
      define: createProductStore,
    });
    const limit = 5;
    // What the last word is the beginning of is found in another order than that of the results, and is read as a whole.
    for (const [q, most] of [
      ['many', limit + 1],
      ['many 109', 2 * 11],
    ] as const) {
      const conditions = [{ field: 'q', operator: 'eq', values: [q] }] as const;
      for (const field of ['relevance', 'price', 'createdAt'] as const) {
        for (const descending of [false, true]) {
          const query = { conditions, sort: { field, descending } };
          const pageBeside = (position: Position | undefined, direction: 'next' | 'previous') =>
            store.byKeyset(query, {
              limit,
              ...(position && { from: { position, direction, inclusive: false } }),
            });
          const plans = await explainQueries(connection, async () => {
            const { last } = await store.byOffset(query, { limit, offset: 0 });
            const { first } = await pageBeside(last, 'next');
            await pageBeside(first, 'previous');
          });
          t.ok(plans.length >= 5, 'a page by cursor also looks behind itself');
          // From the worst results on, all matches are read: that a word is not in a name is in no index.
          const bound = field === 'relevance' && descending ? documents.length : most;
          for (const { stages, indexes, keys, documents } of plans) {
            const read = `${q} by ${field}: ${stages} ${indexes}, ${keys} keys, ${documents} documents`;
            t.notMatch(stages, /COLLSCAN/, read);
            for (const index of indexes)
              t.match(index, /^(?:words|name_words_1__id_1|_id_|price_1__id_1|created_at_1__id_1)$/, read);
            t.ok(documents <= bound, read);
            // What is counted is in the index alone.
            t.ok(keys <= (stages.includes('PROJECTION_COVERED') ? 1000 : bound + 2), read);
          }
        }
      }
    }
  });

  t.test('the total and the facets are one query of an index, for two seconds', async (t) => {
    const { store, connection } = await startTestDatabase(t, {
      uri: monitored(mongodbUri),
      define: createProductStore,
    });
    const conditions = [{ field: 'q', operator: 'eq', values: ['man'] }] as const;
    const query = { conditions, sort: { field: 'price', descending: false } } as const;
    const counting = (plans: Awaited<ReturnType<typeof explainQueries>>) =>
      plans.filter(({ indexes }) => indexes.includes('words'));
    const plans = await explainQueries(connection, () =>
      Promise.all([
        store.byOffset(query, { limit: 5, offset: 0 }),
        store.byOffset(query, { limit: 5, offset: 5 }),
        store.count(conditions),
      ]),
    );
    t.match(counting(plans), [{ documents: 0, keys: 1000 }]);
    t.same(counting(await explainQueries(connection, () => store.count(conditions))), []);
    await store.insert(productOf(documents[0] as ProductDocument)).catch(() => {});
    t.equal(counting(await explainQueries(connection, () => store.count(conditions))).length, 1);
  });
});
