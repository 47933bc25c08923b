import assert from 'node:assert/strict';
import { newId } from '@gatehouse/core/ids';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import fc from 'fast-check';
import t from 'tap';
import { createUser, startGatehouse, temporaryDir, tokenOf } from './gatehouse.ts';

const DOCUMENTS = 50_000;
const BATCH = 5000;
const RUNS = 300;

const mongo = await startTestMongo();
t.teardown(() => mongo.stop());
const gatehouse = await startGatehouse(t, temporaryDir(t), { MONGODB_URI: mongo.uri });
const { base } = gatehouse;
const token = await tokenOf(gatehouse);
const stored = await startTestDatabase(t, { uri: mongo.uri });
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

type Document = { _id: string } & Record<string, unknown>;
type Varied = Record<string, unknown>;
const pick = (values: readonly unknown[], i: number) => values[i % values.length];
const at = (i: number) => new Date(Date.parse('2025-01-01T00:00:00Z') + i * 60_000);

/** Stores copies of a document that the API has made, each with other values of the fields that lists are about. */
async function copy(database: string, collection: string, idPrefix: string, vary: (i: number) => Varied) {
  const documents = stored.connection
    .getClient()
    .db(`gatehouse_${database}`)
    .collection<Document>(collection);
  const template = await documents.findOne({ deleted_at: { $exists: false } }, { sort: { _id: -1 } });
  assert(template !== null, collection);
  for (let i = 0; i < DOCUMENTS; i += BATCH) {
    const copies = Array.from({ length: BATCH }, (_, n) => ({
      ...{ ...template, outbox: [], created_at: at(i + n), updated_at: at(i + n) },
      ...vary(i + n),
      _id: newId(idPrefix),
    }));
    await documents.insertMany(copies, { ordered: false, writeConcern: { w: 1, journal: false } });
  }
}

async function post(path: string, body: object): Promise<{ id: string }> {
  const response = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
  assert(response.ok, await response.clone().text());
  return (await response.json()) as { id: string };
}

const WORDS = ['odd', 'even', 'blue', 'bread', 'b2', 'cup'];
const STATUSES = ['active', 'inactive'];
const { id: userId } = await createUser(base, token, 'listed');
const product = { name: 'Tea', price: 1, currency: 'EUR', stock: 100, category: 'c0', sku: 'S' };
const { id: productId } = await post('/v2/products', product);
await post('/api/v1/items', { name: 'Item', value: 1 });
await post('/v2/orders', {
  user_id: userId,
  items: [{ product_id: productId, quantity: 1 }],
  currency: 'EUR',
});
const { id: webhookId } = await post('/api/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['*'] });
await fetch(`${base}/api/v1/webhooks/${webhookId}/test`, { method: 'POST', headers });
await post('/v2/notifications', { user_id: userId, message: 'Hello', type: 'push', priority: 'low' });

await copy('users', 'users', 'usr', (i) => ({
  ...{ username: `u${i}`, username_key: `u${i}`, email: `u${i}@example.org`, email_key: `u${i}@example.org` },
  ...{ role: pick(['user', 'editor', 'user'], i), status: pick(STATUSES, i) },
  ...{ search_text: `u${i}`, search_words: [`u${i}`] },
}));
await copy('commerce', 'products', 'prd', (i) => {
  // No product has both of the first two words, and each of them has half of the products.
  const words = [String(pick(WORDS.slice(0, 2), i)), String(pick(WORDS.slice(2), i >> 1)), `n${i}`];
  const [name, sku] = [words.join(' '), `S-${i}`];
  return {
    ...{ name, name_key: name, words, name_words: words.slice(0, 2), sku, sku_key: sku.toLowerCase() },
    ...{ price: i, price_minor: i * 100, currency: pick(['EUR', 'USD'], i), stock: i % 500 },
    ...{ category: `c${i % 40}`, status: pick(STATUSES, i >> 2) },
  };
});
await copy('items', 'items', 'itm', (i) => ({ name: `i${i}`, owner_id: i % 2 ? userId : `usr_${i % 100}` }));
await copy('commerce', 'orders', 'ord', (i) => ({
  ...{ user_id: i % 2 ? userId : `usr_${i % 100}`, status: pick(['confirmed', 'shipped', 'delivered'], i) },
  ...{ currency: pick(['EUR', 'USD'], i), total: i, total_minor: i * 100, stock: undefined, pending: null },
}));
await copy('notifications', 'notifications', 'ntf', (i) => ({
  ...{ user_id: i % 2 ? userId : `usr_${i % 100}`, type: pick(['email', 'sms', 'push'], i) },
  ...{ priority: pick(['low', 'normal', 'high'], i >> 1), status: pick(['sent', 'failed', 'cancelled'], i) },
}));

type Parameter = { name: string; in: string; required?: boolean; schema: { enum?: string[] } };
type Paths = Record<string, { get?: { parameters?: Parameter[] } }>;
type List = { path: string; parameters: Parameter[]; rows: Record<string, unknown>[] };

/** The lists of a service by its OpenAPI document, each with some of its rows. */
async function listsOf(service: string): Promise<List[]> {
  const { paths } = (await (await fetch(`${base}/openapi/${service}.json`)).json()) as { paths: Paths };
  const lists: List[] = [];
  for (const [pattern, { get }] of Object.entries(paths)) {
    const path = pattern.replace('{id}', webhookId);
    const parameters = get?.parameters?.filter(({ in: place }) => place === 'query') ?? [];
    if (!parameters.some(({ name }) => name.startsWith('filter['))) continue;
    const isSearch = parameters.some(({ name, required }) => name === 'q' && required);
    const found = await fetch(`${base}${path}?limit=100${isSearch ? '&q=b' : ''}`, { headers });
    const body = (await found.json()) as Record<string, unknown>[] | { data: Record<string, unknown>[] };
    assert(found.ok, `${path}: ${JSON.stringify(body)}`);
    lists.push({ path, parameters, rows: Array.isArray(body) ? body : body.data });
  }
  return lists;
}

const OPERATORS = ['', '', '[gt]', '[gte]', '[lt]', '[lte]', '[ne]', '[in]'];
const PAGES = ['limit=5', 'cursor=', 'page=40', 'offset=700'];

/** A query with any filters of a list, most of whose values are those of rows, and with any sort and page. */
function queryOf({ path, parameters, rows }: List): fc.Arbitrary<string> {
  const names = parameters.map(({ name }) => name);
  const filters = names.flatMap((name) => /^filter\[(\w+)\]$/.exec(name)?.[1] ?? []);
  const chosen = parameters.filter(({ name }) => name.startsWith('sort') || name === 'order');
  const condition = fc
    .tuple(
      fc.constantFrom(...filters),
      fc.constantFrom(...OPERATORS),
      fc.constantFrom(...rows),
      fc.constantFrom(undefined, undefined, '0', '999999', 'zzz', '2030-01-01'),
    )
    .map(([field, operator, row, other]) => [
      `filter[${field}]${operator}`,
      other ?? String(row[field] ?? userId),
    ]);
  const words = fc.uniqueArray(fc.constantFrom(...WORDS, 'b', 'n1', 'nothing'), {
    minLength: 1,
    maxLength: 3,
  });
  const order = chosen.map(({ name, schema: { enum: values = [] } }) =>
    fc.constantFrom(...values).map((value) => [name, value]),
  );
  return fc
    .tuple(
      fc.array(condition, { maxLength: 4 }),
      names.includes('q') ? words.map((all) => [['q', all.join(' ')]]) : fc.constant([]),
      fc.option(fc.tuple(...order), { nil: [] }),
      fc.constantFrom(...PAGES),
    )
    .map(([conditions, search, sort, page]) => {
      const query = new URLSearchParams([...conditions, ...search, ...sort] as [string, string][]);
      return `${path}?${query}&${page}`;
    });
}

t.test('any filters, sort, search and page of any list', { timeout: 1_200_000 }, async (t) => {
  const lists = (await Promise.all(['users', 'items', 'commerce', 'notifications'].map(listsOf))).flat();
  const statuses = new Map<number, number>();
  const query = fc.asyncProperty(fc.oneof(...lists.map(queryOf)), async (path) => {
    const response = await fetch(base + path, { headers });
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    const body = await response.text();
    assert(response.status < 500, `${response.status} ${body}`);
  });
  await fc.assert(query, { numRuns: RUNS });
  t.comment([...statuses].join(' '));
  t.ok((statuses.get(200) ?? 0) > RUNS / 3, 'most queries are valid');
});
