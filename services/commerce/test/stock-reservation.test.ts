import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/logger';
import { createDatabase } from '@gatehouse/mongo/database';
import { until } from '@gatehouse/testing/processes';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import type { Connection } from 'mongoose';
import t, { type Test } from 'tap';
import type { Order } from '../src/order.ts';
import { createOrderStore } from '../src/store/order-store.ts';
import { createProductStore } from '../src/store/product-store.ts';

const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
const database = createDatabase({ uri: await testDatabase(t), name: 'commerce', logger });
const { connection } = database;
const productStore = createProductStore(connection);
const orderStore = createOrderStore(connection, { logger });
await database.start();
t.teardown(() => database.stop());
const products = connection.collection('products');
const orders = connection.collection('orders');

/** A connection with no models yet, as another process has it. */
const another = () => connection.useDb(connection.name, { useCache: false });

const STOCK = 10;
const WRITES = ['insertOne', 'updateOne', 'updateMany', 'deleteOne', 'findOneAndUpdate'];

/**
 * A connection of a process that dies at its nth write: before it, or after it and before its answer. From then on nothing
 * that the process does reaches the database.
 */
function dyingConnection(nth: number, when: 'before' | 'after'): Connection {
  const own = another();
  let writes = 0;
  const collectionOf = (name: string) =>
    new Proxy(own.collection(name), {
      get(target, property) {
        const value = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        if (!WRITES.includes(String(property))) return value.bind(target);
        return async (...args: unknown[]) => {
          writes += 1;
          if (writes > nth || (writes === nth && when === 'before')) throw new Error('killed');
          const result: unknown = await Reflect.apply(value, target, args);
          if (writes === nth) throw new Error('killed');
          return result;
        };
      },
    });
  return new Proxy(own, {
    get: (target, property) => (property === 'collection' ? collectionOf : Reflect.get(target, property)),
  });
}

async function newProducts(stocks: number[]): Promise<string[]> {
  const at = new Date();
  const ids = stocks.map(() => newId('prd'));
  for (const [i, stock] of stocks.entries()) {
    await productStore.insert({
      ...{ id: ids[i] ?? '', name: `p${i}`, description: null, category: null, price: 100, currency: 'USD' },
      ...{ stock, sku: null, status: 'active', version: 1, createdAt: at, updatedAt: at },
    });
  }
  return ids;
}

function orderOf(ids: readonly string[]): Order {
  const at = new Date();
  const lines = ids.map((productId, i) => ({ productId, quantity: i + 1, unitPrice: 100 }));
  return {
    ...{ id: newId('ord'), userId: 'usr_ann', lines, currency: 'USD', total: 600, status: 'pending' },
    ...{ history: [{ status: 'pending', at, note: null }], version: 1, createdAt: at, updatedAt: at },
  };
}

/** As if time had passed, so that another process takes over what this one has left. */
async function passTime(): Promise<void> {
  await orders.updateMany({ stock: { $exists: true } }, { $set: { 'stock.until': new Date(1) } });
  await products.updateMany(
    { 'reservations.0': { $exists: true } },
    { $set: { 'reservations.$[].at': new Date(1) } },
  );
}

/** Sweeps until nothing is left to do, then compares the books: what is not in stock has been sold. */
async function checkBooks(t: Test, ids: readonly string[], label: string): Promise<boolean> {
  const { sweeper } = createOrderStore(another(), { logger });
  sweeper.start();
  const left = async () => {
    await passTime();
    sweeper.wake();
    const [open, reserved] = await Promise.all([
      orders.countDocuments({ stock: { $exists: true } }),
      products.countDocuments({
        $or: [{ 'reservations.0': { $exists: true } }, { 'returns.0': { $exists: true } }],
      }),
    ]);
    return open + reserved === 0;
  };
  await until(left, 5000);
  await sweeper.stop();
  const placed = await orders.find({ 'lines.product_id': ids[0] ?? '' }).toArray();
  const sold = placed.filter(({ status }) => status !== 'cancelled').length;
  for (const [i, id] of ids.entries()) {
    const product = await products.findOne({ _id: id as never });
    t.equal(product?.stock + sold * (i + 1), STOCK, `${label}: product ${i}`);
  }
  return sold > 0;
}

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

t.test('a process that was thought dead and goes on does no harm', async (t) => {
  const ids = await newProducts([STOCK, STOCK, STOCK]);
  const order = orderOf(ids);
  const reserving = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let updates = 0;
  const slow = new Proxy(another(), {
    get(target, property) {
      if (property !== 'collection') return Reflect.get(target, property);
      return (name: string) =>
        new Proxy(connection.collection(name), {
          get(collection, method) {
            const value = Reflect.get(collection, method);
            if (typeof value !== 'function') return value;
            if (name !== 'products' || method !== 'updateOne') return value.bind(collection);
            return async (...args: unknown[]) => {
              updates += 1;
              if (updates === 2) {
                reserving.resolve();
                await goOn.promise;
              }
              return Reflect.apply(value, collection, args);
            };
          },
        });
    },
  });
  const placing = createOrderStore(slow, { logger })
    .place(order)
    .catch((error: unknown) => error);
  await reserving.promise;
  t.notOk(await checkBooks(t, ids, 'while it stands still'), 'the order was undone');
  goOn.resolve();
  t.match(await placing, { kind: 'unavailable' });
  t.notOk(await checkBooks(t, ids, 'after it went on'));
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
    async () => (await orders.countDocuments({ _id: order.id as never, 'stock.phase': 'returned' })) === 1,
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
  t.match(await orderStore.place(order).catch((error: unknown) => error), { kind: 'unavailable' });
  t.notOk(await checkBooks(t, ids, 'after all'));
});
