import { randomUUID } from 'node:crypto';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import mongoose from 'mongoose';
import t from 'tap';
import { createOrderStore } from '../src/store/order-store.ts';
import { ALL, ANN, build, ORDERS, PRODUCTS } from './build.ts';
import { openBooks, orderOf, STOCK } from './stock-books.ts';

const { call, issuer, mongodbUri, machine, ann, newProduct, stockOf, order } = await build(t);
const client = await new mongoose.mongo.MongoClient(mongodbUri).connect();
t.teardown(() => client.close());
const stored = client.db().collection<{ _id: string }>('orders');

const orderWith = (key: string, product: string, quantity = 1, token = ann) =>
  order(token, [[product, quantity]], {}, { 'idempotency-key': key });
const newKey = () => ({
  id: randomUUID(),
  fingerprint: 'body',
  expiresAt: new Date(Date.now() + 60_000),
});

t.test('the same key at once places one order; later it is answered like the first time', async (t) => {
  for (const stock of [10, 1]) {
    const tea = await newProduct(stock);
    const responses = await Promise.all(
      Array.from({ length: 50 }, () => orderWith(`parallel-${stock}`, tea)),
    );
    const placed = responses.filter(({ status }) => status === 201);
    t.ok(placed.length >= 1);
    t.equal(new Set(placed.map(({ body }) => body.id)).size, 1);
    for (const { headers, body } of responses.filter(({ status }) => status !== 201)) {
      t.match(
        body.error,
        { code: 'conflict', message: /Idempotency-Key/ },
        'also where it was the last piece',
      );
      t.equal(headers.get('retry-after'), '1');
    }
    t.equal(await stockOf(tea), stock - 1);
    const again = await orderWith(`parallel-${stock}`, tea);
    t.equal(again.headers.get('idempotency-replayed'), 'true');
    const first = placed.find(({ headers }) => headers.get('idempotency-replayed') === null);
    t.same(again.body, first?.body);
    for (const name of ['location', 'etag', 'cache-control']) {
      t.equal(again.headers.get(name), first?.headers.get(name), name);
    }
  }
  t.equal(
    await client
      .db()
      .collection('idempotency_keys')
      .countDocuments({ response: { $exists: true } }),
    0,
  );
});

t.test('a key belongs to its caller and its body, and is not stored in plain text', async (t) => {
  const tea = await newProduct(10);
  const { body: first } = await orderWith('whose', tea);
  t.match(await orderWith('whose', tea, 2), {
    status: 422,
    body: { error: { code: 'idempotency_key_reused' } },
  });
  const bob = await issuer.person('usr_bob', 'user', ALL);
  const other = await orderWith('whose', tea, 1, bob);
  t.equal(other.status, 201);
  t.not(other.body.id, first.id);
  t.notMatch(JSON.stringify(await stored.findOne({ _id: first.id })), /whose/);
  t.equal((await orderWith('not valid', tea)).status, 400);
});

t.test('whoever may no longer place an order for somebody gets none that they placed', async (t) => {
  const tea = await newProduct(10);
  const place = (token: string) =>
    order(token, [[tea, 1]], { user_id: ANN }, { 'idempotency-key': 'as-an-admin' });
  const [before, after] = [
    await issuer.person('usr_eva', 'admin', ALL),
    await issuer.person('usr_eva', 'user', ALL),
  ];
  t.equal((await place(before)).status, 201);
  t.equal((await place(before)).headers.get('idempotency-replayed'), 'true');
  t.equal((await place(after)).status, 403);
});

t.test('the answer is the first one, whatever became of the order', async (t) => {
  const tea = await newProduct(10);
  const first = await orderWith('changed', tea);
  const path = `${ORDERS}/${first.body.id}`;
  await call('PUT', path, machine, { status: 'confirmed' });
  await call('PUT', path, ann, { status: 'cancelled', note: 'Too late.' });
  await call('PUT', `${PRODUCTS}/${tea}`, machine, { price: 99, status: 'inactive' });
  const again = await orderWith('changed', tea);
  t.equal(again.status, 201);
  t.same(again.body, first.body);
  t.equal(again.headers.get('etag'), first.headers.get('etag'));
  t.match((await call('GET', path, ann)).body, { status: 'cancelled' });
});

t.test('a refused request does not take its key', async (t) => {
  const tea = await newProduct(1);
  t.equal((await orderWith('refused', tea, 2)).status, 409);
  t.equal((await orderWith('refused', 'prd_x')).status, 400);
  t.match(await orderWith('refused', tea), { status: 201 });
});

t.test('after its time a key is free', async (t) => {
  const tea = await newProduct(10);
  const first = await orderWith('old', tea);
  const past = { $set: { 'idempotency.expires_at': new Date(1) } };
  await stored.updateOne({ _id: first.body.id }, past);
  const second = await orderWith('old', tea);
  t.equal(second.headers.get('idempotency-replayed'), null);
  t.not(second.body.id, first.body.id);
  t.equal((await orderWith('old', tea)).body.id, second.body.id);
});

t.test('keys are found by their index, and removed by the sweep', async (t) => {
  const { store, connection } = await startTestDatabase(t, {
    uri: monitored(mongodbUri),
    define: (connection) => createOrderStore(connection, { logger }),
  });
  const plans = await explainQueries(connection, () => store.findByKey(newKey()));
  t.match(plans, [{ indexes: ['idempotency_key'] }]);
  const tea = await newProduct(10);
  const { id } = (await orderWith('swept', tea)).body;
  await stored.updateOne({ _id: id }, { $set: { 'idempotency.expires_at': new Date(1) } });
  store.keySweeper.start();
  await until(async () => {
    store.keySweeper.wake();
    return (await stored.countDocuments({ _id: id, idempotency: { $exists: true } })) === 0;
  }, 5000);
  await store.keySweeper.stop();
});

t.test('a process that dies anywhere leaves no key behind', async (t) => {
  const { orderStore, another, dyingConnection, newProducts, orders, checkBooks } = await openBooks(t);
  const cases = (['after', 'before'] as const).flatMap((when) =>
    [
      [STOCK, STOCK],
      [STOCK, 0],
    ].flatMap((stocks) => [1, 2, 3, 4, 5, 6, 7].map((nth) => ({ when, stocks, nth }))),
  );
  for (const { when, stocks, nth } of cases.slice(0, repetitions(cases.length))) {
    const label = `${when} write ${nth}, stock ${stocks}`;
    const ids = await newProducts(stocks);
    const key = newKey();
    const intended = orderOf(ids);
    const dying = createOrderStore(dyingConnection(nth, when), { logger });
    const result = await dying.place(intended, { key }).catch(() => undefined);
    const left = await orders.findOne({ 'idempotency.key': key.id });
    const expected = left?.status ? 'done' : left?.stock.phase === 'reserving' ? 'running' : undefined;
    let found = await orderStore.findByKey(key);
    t.equal(found?.state, expected, label);
    if (found?.state === 'running') {
      t.equal(result, undefined, label);
      t.match(await orderStore.findByKey({ ...key, fingerprint: 'other' }), { state: 'reused' }, label);
      const failure = await orderStore.place(orderOf(ids), { key }).catch((error: unknown) => error);
      t.match(failure, { kind: 'conflict', headers: { 'retry-after': '1' } }, label);
      const secondsLater = (seconds: number) => {
        const until = new Date(Date.now() + (10 - seconds) * 1000);
        return orders.updateOne({ 'idempotency.key': key.id }, { $set: { 'stock.until': until } });
      };
      await secondsLater(1);
      t.match(await orderStore.findByKey(key), { state: 'running' }, label);
      await secondsLater(2);
      found = await createOrderStore(another(), { logger }).findByKey(key);
    }
    if (found?.state === 'done') {
      t.equal(found.created.id, intended.id, label);
    } else {
      t.equal(found, undefined, label);
      t.not(result?.isPlaced, true, `${label}: what was acknowledged is there`);
      t.match(
        await orderStore.place(orderOf(ids), { key }),
        { isPlaced: stocks[1] !== 0 },
        `${label}: the retry`,
      );
    }
    t.equal(await orders.countDocuments({ 'idempotency.key': key.id }), stocks[1] === 0 ? 0 : 1, label);
    await checkBooks(t, stocks[1] === 0 ? ids.slice(0, 1) : ids, label);
  }
});
