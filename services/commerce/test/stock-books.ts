import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/logger';
import { createDatabase } from '@gatehouse/mongo/database';
import { until } from '@gatehouse/testing/processes';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import type { Connection } from 'mongoose';
import type { Test } from 'tap';
import type { Order } from '../src/order.ts';
import { createOrderStore } from '../src/store/order-store.ts';
import { createProductStore } from '../src/store/product-store.ts';

/** The stock that every product begins with, unless a test says otherwise. */
export const STOCK = 10;
const WRITES = ['insertOne', 'updateOne', 'updateMany', 'deleteOne', 'findOneAndUpdate'];
export const logger = createLogger({ name: 'test', level: 'fatal', readable: false });

/** A database with products and orders, processes that die in it, and its books. */
export async function openBooks(t: Test) {
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
        ...{
          id: ids[i] ?? '',
          name: `p${i}`,
          description: null,
          category: null,
          price: 100,
          currency: 'USD',
        },
        ...{ stock, sku: null, status: 'active', version: 1, createdAt: at, updatedAt: at },
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
    dyingConnection,
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
