import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { createOrderStore } from '../src/store/order-store.ts';
import { openBooks, orderOf, STOCK } from './stock-books.ts';

const books = await openBooks(t);
const { orderStore, orders, products, another, newProducts, passTime, checkBooks } = books;
const { dyingConnection, lateProcess } = books;

for (const when of ['before', 'after'] as const) {
  t.test(`a process that dies ${when} any write of placing an order`, async (t) => {
    let survived = false;
    for (let nth = 1; !survived; nth += 1) {
      const ids = await newProducts([STOCK, STOCK, STOCK]);
      const store = createOrderStore(dyingConnection(nth, when), { logger });
      const order = orderOf(ids);
      const result = await store.place(order).catch(() => undefined);
      const isPlaced = await checkBooks(t, ids, `write ${nth}`);
      if (result?.isPlaced === true) t.ok(isPlaced, `write ${nth}: what was acknowledged is there`);
      survived = nth > 7;
      if (survived) t.ok(isPlaced, 'the last round has no crash');
    }
  });

  t.test(`a process that dies ${when} any write of refusing an order`, async (t) => {
    for (let nth = 1; nth <= 8; nth += 1) {
      const ids = await newProducts([STOCK, STOCK, 2]);
      const store = createOrderStore(dyingConnection(nth, when), { logger });
      const result = await store.place(orderOf(ids)).catch(() => undefined);
      t.not(result?.isPlaced, true);
      t.notOk(await checkBooks(t, ids.slice(0, 2), `write ${nth}`), 'nothing is sold');
    }
  });

  t.test(`a process that dies ${when} any write of cancelling an order`, async (t) => {
    for (let nth = 1; nth <= 7; nth += 1) {
      const ids = await newProducts([STOCK, STOCK, STOCK]);
      const order = orderOf(ids);
      await orderStore.place(order);
      const store = createOrderStore(dyingConnection(nth, when), { logger });
      const result = await store
        .update(order.id, (current) => ({ ...current, status: 'cancelled' }), undefined)
        .catch(() => undefined);
      const isSold = await checkBooks(t, ids, `write ${nth}`);
      if (result !== undefined) t.notOk(isSold, `write ${nth}: what was acknowledged is cancelled`);
    }
  });
}

t.test('a process that was thought dead while it placed an order, and goes on, does no harm', async (t) => {
  const ids = await newProducts([STOCK, STOCK, STOCK]);
  const { store, standing, goOn } = lateProcess(2, 'products', ['bulkWrite']);
  const placing = store.place(orderOf(ids)).catch((error: unknown) => error);
  await standing;
  t.notOk(await checkBooks(t, ids, 'while it stands still'), 'the order was undone');
  goOn();
  t.match(await placing, { kind: 'unavailable' });
  t.notOk(await checkBooks(t, ids, 'after it went on'));
});

t.test('a process that was thought dead while it returned stock, and goes on, does no harm', async (t) => {
  for (const [label, nth, collection, methods] of [
    ['before it reads the products', 1, 'products', ['find']],
    ['before it reads the order', 1, 'orders', ['find']],
    ['before it returns the first', 1, 'products', ['bulkWrite']],
    ['before it returns the second', 2, 'products', ['bulkWrite']],
    ['before it says so', 1, 'orders', ['updateMany']],
    ['before it forgets', 1, 'products', ['updateMany']],
  ] as const) {
    const ids = await newProducts([STOCK, STOCK, STOCK]);
    const order = orderOf(ids);
    await orderStore.place(order);
    await until(async () => (await orders.countDocuments({ stock: { $exists: true } })) === 0, 5000);
    const { store, standing, goOn } = lateProcess(nth, collection, methods);
    const cancelling = store.update(order.id, (it) => ({ ...it, status: 'cancelled' }), undefined);
    await standing;
    t.notOk(await checkBooks(t, ids, `while it stands still ${label}`));
    goOn();
    await cancelling;
    t.notOk(await checkBooks(t, ids, `after it stood still ${label}`));
  }
});

t.test('many cancellations at once return all stock, and leave nothing in the product', async (t) => {
  const ids = await newProducts([STOCK, STOCK]);
  await products.updateMany({ _id: { $in: ids as never[] } }, { $set: { stock: 300 } });
  const placed = Array.from({ length: 100 }, () => orderOf(ids));
  for (const it of placed) t.match(await orderStore.place(it), { isPlaced: true });
  const processes = [
    orderStore,
    createOrderStore(another(), { logger }),
    createOrderStore(another(), { logger }),
  ];
  const begin = performance.now();
  await Promise.all(
    placed.map(({ id }, i) =>
      processes[i % 3]?.update(id, (it) => ({ ...it, status: 'cancelled' }), undefined),
    ),
  );
  t.comment(`${placed.length} cancellations in ${(performance.now() - begin).toFixed(0)} ms`);
  const found = await products.find({ _id: { $in: ids as never[] } }).toArray();
  t.same(
    found.map(({ stock }) => stock),
    [300, 300],
  );
  await until(async () => (await orders.countDocuments({ stock: { $exists: true } })) === 0, 5000);
  t.match(await products.find({ _id: { $in: ids as never[] } }).toArray(), [
    { returns: [] },
    { returns: [] },
  ]);
});

t.test('sweeps of several processes at once return stock once', async (t) => {
  const ids = await newProducts([STOCK, STOCK, STOCK]);
  const order = orderOf(ids);
  await orderStore.place(order);
  const dead = createOrderStore(dyingConnection(2, 'before'), { logger });
  await dead.update(order.id, (current) => ({ ...current, status: 'cancelled' }), undefined).catch(() => {});
  await passTime();
  const sweepers = Array.from({ length: 5 }, () => createOrderStore(another(), { logger }).sweeper);
  for (const sweeper of sweepers) sweeper.start();
  await until(
    async () => (await orders.countDocuments({ _id: order.id as never, 'stock.phase': 'restocking' })) === 0,
    5000,
  );
  await Promise.all(sweepers.map((sweeper) => sweeper.stop()));
  t.notOk(await checkBooks(t, ids, 'after all'));
});

t.test('nobody sees an order whose stock is still being reserved', async (t) => {
  const ids = await newProducts([STOCK, STOCK, STOCK]);
  const order = orderOf(ids);
  // Dies after the order was stored, before anything is reserved.
  const store = createOrderStore(dyingConnection(2, 'before'), { logger });
  await store.place(order).catch(() => {});
  t.equal(await orders.countDocuments({ _id: order.id as never }), 1);
  const sorts = ['id', 'userId', 'status', 'total', 'createdAt', 'updatedAt'] as const;
  for (const field of sorts) {
    const query = { conditions: [], sort: { field, descending: false } };
    for (const list of [orderStore, orderStore.within(order.userId)]) {
      const { items } = await list.byOffset(query, { limit: 100, offset: 0 });
      t.notOk(
        items.some(({ id }) => id === order.id),
        `by ${field}`,
      );
    }
  }
  t.equal(await orderStore.findById(order.id), undefined);
  t.match(await orderStore.update(order.id, (it) => it, undefined).catch((error: unknown) => error), {
    kind: 'not_found',
  });
  t.match(await orderStore.place(order).catch((error: unknown) => error), { kind: 'conflict' });
  t.notOk(await checkBooks(t, ids, 'after all'));
});
