import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { changeStatus } from '../src/order.ts';
import { createOrderExpiry } from '../src/order-expiry.ts';
import { createOrderStore } from '../src/store/order-store.ts';
import { ALL, ANN, build, ORDERS } from './build.ts';
import { openBooks, orderOf, STOCK } from './stock-books.ts';

const LIMIT = 5;
const {
  call,
  issuer,
  mongodbUri,
  machine,
  ann,
  newProduct,
  stockOf,
  order: place,
} = await build(t, { maxPendingOrders: LIMIT });
const bob = await issuer.person('usr_bob', 'user', ALL);
const tea = await newProduct(1000);
const order = (token: string, more: object = {}, quantity = 1) => place(token, [[tea, quantity]], more);

t.test('a person has so many pending orders and no more, also when many come at once', async (t) => {
  const responses = await Promise.all(Array.from({ length: 6 * LIMIT }, () => order(ann)));
  const placed = responses.filter(({ status }) => status === 201).map(({ body }) => body.id);
  t.equal(placed.length, LIMIT);
  for (const { status, body } of responses) {
    if (status !== 201) t.match(body.error, { code: 'conflict', message: /5 pending orders/ });
  }
  t.equal(await stockOf(tea), 1000 - LIMIT);
  t.equal((await order(bob)).status, 201, 'another person');
  t.equal(
    (await order(machine, { user_id: ANN })).status,
    201,
    'what others order for the person does not count',
  );

  for (const status of ['confirmed', 'cancelled']) {
    t.equal((await call('PUT', `${ORDERS}/${placed.pop()}`, machine, { status })).status, 200);
    t.equal((await order(ann, {}, 10_000)).status, 409, 'what is refused does not count');
    t.equal((await order(ann)).status, 201, `one is ${status}: there is room`);
    t.equal((await order(ann)).status, 409, 'for one');
  }
});

t.test('the pending orders of a person are found by their index', async (t) => {
  const { store, connection } = await startTestDatabase(t, {
    uri: monitored(mongodbUri),
    define: (connection) => createOrderStore(connection, { logger }),
  });
  const full = { ...orderOf([tea]), userId: ANN };
  const plans = await explainQueries(connection, async () => {
    t.same(await store.place(full, { maxPending: LIMIT }), { isPlaced: false, isOverLimit: true });
  });
  t.match(plans, [{ indexes: ['pending'], keys: LIMIT }]);
});

t.test('an order that was not placed does not count, wherever its process died', async (t) => {
  const { orderStore, dyingConnection, newProducts, checkBooks } = await openBooks(t);
  for (let nth = 1; nth <= 3; nth += 1) {
    const ids = await newProducts([STOCK]);
    const inOneSlot = (store: Pick<typeof orderStore, 'place'>) =>
      store.place({ ...orderOf(ids), userId: `usr_${nth}` }, { maxPending: 1 });
    await inOneSlot(createOrderStore(dyingConnection(nth, 'before'), { logger })).catch(() => {});
    await checkBooks(t, ids, `write ${nth}`);
    t.match(await inOneSlot(orderStore), { isPlaced: true }, `write ${nth}`);
  }
});

t.test('an order that is pending for long is cancelled, and its stock returns', async (t) => {
  const { orderStore, orders, products, newProducts } = await openBooks(t);
  const ids = await newProducts([STOCK]);
  const placed = [1, 2, 3, 4].map(() => orderOf(ids));
  for (const it of placed) t.match(await orderStore.place(it), { isPlaced: true });
  const [long, longer, confirmed, young] = placed.map(({ id }) => id);
  const change = { status: 'confirmed', note: null } as const;
  await orderStore.update(confirmed ?? '', (it) => changeStatus(it, change, new Date()), undefined);
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
  for (const [id, at] of [
    [long, hoursAgo(48.1)],
    [longer, hoursAgo(100)],
    [confirmed, hoursAgo(100)],
    [young, hoursAgo(47.9)],
  ] as const) {
    await orders.updateOne({ _id: id as never }, { $set: { created_at: at } });
  }
  // The first attempt at one fails, and does not keep the others waiting.
  const failing = new Set([long]);
  const store = {
    byOffset: orderStore.byOffset,
    update: (...args: Parameters<typeof orderStore.update>) =>
      failing.delete(args[0]) ? Promise.reject(new Error('no')) : orderStore.update(...args),
  };
  const expiry = createOrderExpiry({ store, hours: 48, logger });
  const statuses = async () =>
    Promise.all(placed.map(async ({ id }) => (await orderStore.findById(id))?.status));
  expiry.start();
  t.teardown(() => expiry.stop());
  await until(async () => (await statuses())[1] === 'cancelled', 5000);
  t.same(await statuses(), ['pending', 'cancelled', 'confirmed', 'pending']);
  await until(async () => {
    expiry.wake();
    return (await statuses())[0] === 'cancelled';
  }, 5000);
  t.same(await statuses(), ['cancelled', 'cancelled', 'confirmed', 'pending']);
  t.match(await orderStore.findById(long ?? ''), {
    history: [{ status: 'pending' }, { status: 'cancelled', note: 'Not confirmed within 48 hours.' }],
  });
  await until(async () => (await products.findOne({ _id: ids[0] as never }))?.stock === STOCK - 2, 5000);
});
