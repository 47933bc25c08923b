import { newId } from '@gatehouse/core/ids';
import { initialsOf } from '@gatehouse/domain/fields';
import { PRODUCT } from '@gatehouse/domain/product-fields';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import type { Test } from 'tap';
import type { Order } from '../src/order.ts';
import { createOrderStore } from '../src/store/order-store.ts';
import { createProductStore } from '../src/store/product-store.ts';
import { anotherConnection, dyingConnection, watchedConnection } from './dying-connection.ts';

/** The stock that every product begins with, unless a test says otherwise. */
export const STOCK = 10;

/** A database with products and orders, processes that die in it, and its books. */
export async function openBooks(t: Test) {
  const { store, connection } = await startTestDatabase(t, {
    define: (connection) => ({
      products: createProductStore(connection),
      orders: createOrderStore(connection, { logger }),
    }),
  });
  const { products: productStore, orders: orderStore } = store;
  const products = connection.collection('products');
  const orders = connection.collection('orders');

  const another = () => anotherConnection(connection);

  /** A process that stands still, from the nth time that it reads a list of, or writes, these until it is told to go on. */
  function lateProcess(nth: number, collection: string, methods: readonly string[]) {
    const standing = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    let calls = 0;
    const late = watchedConnection(connection, {
      async before(name, method) {
        if (name !== collection || !methods.includes(method)) return;
        calls += 1;
        if (calls !== nth) return;
        standing.resolve();
        await goOn.promise;
      },
    });
    return { store: createOrderStore(late, { logger }), standing: standing.promise, goOn: goOn.resolve };
  }

  async function newProducts(stocks: number[]): Promise<string[]> {
    const at = new Date();
    const ids = stocks.map(() => newId('prd'));
    for (const [i, stock] of stocks.entries()) {
      await productStore.insert({
        ...initialsOf(PRODUCT),
        ...{ id: ids[i] ?? '', name: `p${i}`, price: 100, currency: 'USD', stock },
        ...{ version: 1, createdAt: at, updatedAt: at },
      });
    }
    return ids;
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

  return {
    connection,
    orderStore,
    products,
    orders,
    another,
    dyingConnection: (nth: number, when: 'before' | 'after') => dyingConnection(connection, { nth, when }),
    lateProcess,
    newProducts,
    passTime,
    checkBooks,
  };
}

/** A new order of one piece of the first product, two of the second, and so on. */
export function orderOf(ids: readonly string[]): Order {
  const at = new Date();
  const lines = ids.map((productId, i) => ({ productId, quantity: i + 1, unitPrice: 100 }));
  return {
    ...{ id: newId('ord'), userId: 'usr_ann', lines, currency: 'USD', total: 600, status: 'pending' },
    ...{ history: [{ status: 'pending', at, note: null }], version: 1, createdAt: at, updatedAt: at },
  };
}
