import assert from 'node:assert/strict';
import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { ORDER_STATUSES, type OrderStatus } from '@gatehouse/domain/order-status';
import { until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import fc from 'fast-check';
import mongoose, { type Connection } from 'mongoose';
import t from 'tap';
import type { Order } from '../src/order.ts';
import { createOrderService } from '../src/order-service.ts';
import { createProductService } from '../src/product-service.ts';
import { createOrderStore } from '../src/store/order-store.ts';
import { createProductStore } from '../src/store/product-store.ts';
import { anotherConnection, dyingConnection } from './dying-connection.ts';

/**
 * The books of products and orders, whatever happens in whatever order: several things at once, and processes that die. Only
 * the database remembers, and what callers were told holds.
 */

const logger = createLogger({ name: 'test', level: 'silent' as 'fatal', readable: false });
// Not that of createDatabase(), which waits for the journal: no machine fails here.
const connection = await mongoose.createConnection(await testDatabase(t), { autoIndex: false }).asPromise();
t.teardown(() => connection.close());
createProductStore(connection);
createOrderStore(connection, { logger });
for (const model of Object.values(connection.models)) await model.createIndexes();
const products = connection.collection('products');
const orders = connection.collection('orders');

/** Commerce without its routes. */
function processOn(own: Connection) {
  const productStore = createProductStore(own);
  const { sweeper, ...store } = createOrderStore(own, { logger });
  const findProducts = productStore.findOffers;
  return {
    productStore,
    products: createProductService(productStore),
    orders: createOrderService({ store, findProducts, userExists: async () => true, maxPending: 10_000 }),
    sweeper,
  };
}
type Process = ReturnType<typeof processOn>;

type Command =
  | { kind: 'order'; items: [product: number, quantity: number][] }
  | { kind: 'status'; order: number; status: OrderStatus }
  | { kind: 'stock'; product: number; stock: number }
  | { kind: 'price'; product: number; price: number }
  | { kind: 'remove'; product: number }
  | { kind: 'sweep' };
/** What is done at once; with `crash`, by a process that dies meanwhile. */
type Batch = { commands: Command[]; crash?: { nth: number; when: 'before' | 'after' } | undefined };

const MACHINE = { person: undefined };
const FOLLOWING: Record<string, readonly string[]> = {
  pending: ['confirmed', 'cancelled'],
  confirmed: ['processing', 'cancelled'],
  processing: ['shipped', 'cancelled'],
  shipped: ['delivered'],
  delivered: ['refunded'],
};

/** As if so much time had passed that other processes take over. `all`: also that nobody returns stock any more. */
async function passTime(ids: readonly string[], all: boolean): Promise<void> {
  const past = new Date(1);
  const phase = all ? { $exists: true } : { $nin: ['returned', null] };
  await orders.updateMany(
    { 'lines.product_id': { $in: ids }, 'stock.phase': phase },
    { $set: { 'stock.until': past } },
  );
  await products.updateMany(
    { _id: { $in: ids as never[] }, 'reservations.0': { $exists: true } },
    { $set: { 'reservations.$[].at': past } },
  );
}

/** Sweeps until nothing is left to do. */
async function recover(ids: readonly string[]): Promise<void> {
  const { sweeper } = processOn(anotherConnection(connection));
  const isDone = async () => {
    await passTime(ids, true);
    sweeper.wake();
    const open = await orders.countDocuments({ 'lines.product_id': { $in: ids }, stock: { $exists: true } });
    const noted = await products.countDocuments({
      _id: { $in: ids as never[] },
      $or: [{ 'reservations.0': { $exists: true } }, { 'returns.0': { $exists: true } }],
    });
    return open + noted === 0;
  };
  sweeper.start();
  await until(isDone, 20_000);
  await sweeper.stop();
}

async function checkRun(stocks: readonly number[], batches: readonly Batch[]): Promise<void> {
  const healthy = processOn(anotherConnection(connection));
  const ids: string[] = [];
  for (const stock of stocks) {
    const id = newId('prd');
    await healthy.products.create({ id, name: 'Tea', price: 1, currency: 'USD', stock });
    ids.push(id);
  }
  const idOf = (product: number) => ids[product % ids.length] as string;
  /** By product, what has been put in, less what has been taken out by hand. */
  const putIn = new Map(ids.map((id, i) => [id, stocks[i] as number]));
  /** Changes of stock of which it is not known whether they were made, by the name that the product then has. */
  const uncertain: { id: string; name: string; by: number }[] = [];
  const attempted: { id: string; prices: Map<string, Set<number>> }[] = [];
  const placed = new Map<string, Order>();
  const told: { id: string; status: OrderStatus }[] = [];

  async function run(process: Process, command: Command, prices: Map<string, Set<number>>): Promise<void> {
    switch (command.kind) {
      case 'order': {
        const id = newId('ord');
        attempted.push({ id, prices });
        const items = command.items.map(([product, quantity]) => ({ productId: idOf(product), quantity }));
        placed.set(id, await process.orders.create({ id, userId: 'usr_1', items, currency: 'USD' }, MACHINE));
        return;
      }
      case 'status': {
        const known = [...placed.keys()];
        const id = known[command.order % known.length];
        if (id === undefined) return;
        const { status } = command;
        await process.orders.changeStatus(id, { status, note: null }, MACHINE, undefined);
        told.push({ id, status });
        return;
      }
      case 'stock': {
        const id = idOf(command.product);
        const { stock } = command;
        const name = newId('name');
        // Conditional: without it, an order between the read and the write is counted in the stock that is put.
        const found = await products.findOne({ _id: id as never });
        const ifVersion = [{ version: found?.version ?? 0, minor: found?.stock_version ?? 0 }];
        let before = 0;
        try {
          await process.productStore.update(
            id,
            (current) => {
              before = current.stock;
              return { ...current, stock, name };
            },
            ifVersion,
          );
          putIn.set(id, (putIn.get(id) ?? 0) + stock - before);
        } catch (error) {
          uncertain.push({ id, name, by: stock - before });
          throw error;
        }
        return;
      }
      case 'price':
        await process.products.update(idOf(command.product), { price: command.price }, undefined);
        return;
      case 'remove':
        await process.products.remove(idOf(command.product), undefined);
        return;
      case 'sweep':
        await passTime(ids, false);
        process.sweeper.wake();
    }
  }

  for (const { commands, crash } of batches) {
    const process = crash === undefined ? healthy : processOn(dyingConnection(connection, crash));
    process.sweeper.start();
    const stored = await products.find({ _id: { $in: ids as never[] } }).toArray();
    // What an order may cost: as before, or as one of the changes at the same time says.
    const prices = new Map(
      stored.map(({ _id, price_minor: price }) => [String(_id), new Set([price as number])]),
    );
    for (const command of commands) {
      if (command.kind === 'price') prices.get(idOf(command.product))?.add(command.price * 100);
    }
    await Promise.allSettled(commands.map((command) => run(process, command, prices)));
    if (process !== healthy) await process.sweeper.stop();
    const negative = await products.countDocuments({ _id: { $in: ids as never[] }, stock: { $lt: 0 } });
    assert.equal(negative, 0, 'stock is never negative');
  }
  await healthy.sweeper.stop();
  await recover(ids);

  const found = await orders.find({ 'lines.product_id': { $in: ids } }).toArray();
  const byId = new Map(found.map((order) => [String(order._id), order]));
  for (const { _id, lines, total_minor: total, history, status, deleted_at: deletedAt } of found) {
    const { prices } = attempted.find(({ id }) => id === String(_id)) ?? {};
    assert.ok(prices !== undefined && deletedAt === undefined);
    let sum = 0;
    for (const { product_id: product, quantity, unit_price_minor: price } of lines) {
      assert.ok(prices.get(product)?.has(price), `${price} was never the price of ${product}`);
      sum += quantity * price;
    }
    assert.equal(total, sum, 'the total is that of the lines');
    const statuses = history.map((it: { status: string }) => it.status);
    assert.equal(statuses[0], 'pending');
    assert.equal(statuses.at(-1), status);
    for (const [i, next] of statuses.slice(1).entries())
      assert.ok(FOLLOWING[statuses[i]]?.includes(next), `${statuses[i]} before ${next}`);
  }
  for (const [id, { total, lines }] of placed) {
    assert.equal(byId.get(id)?.total_minor, total, `${id} was acknowledged`);
    assert.equal(byId.get(id)?.lines.length, lines.length);
  }
  for (const { id, status } of told) {
    const statuses = byId.get(id)?.history.map((it: { status: string }) => it.status);
    assert.ok(statuses?.includes(status), `${id} was said to be ${status}`);
  }
  for (const product of await products.find({ _id: { $in: ids as never[] } }).toArray()) {
    if (product.deleted_at !== undefined) continue;
    const id = String(product._id);
    const made = uncertain.filter(
      (it) =>
        it.id === id && product.outbox.some(({ data }: { data: { name: string } }) => data.name === it.name),
    );
    const expected = made.reduce((total, { by }) => total + by, putIn.get(id) ?? 0);
    let sold = 0;
    for (const { status, lines } of found) {
      if (status === 'cancelled') continue;
      for (const line of lines) if (line.product_id === id) sold += line.quantity;
    }
    assert.equal(product.stock + sold, expected, `the books of ${id}`);
  }
}

const product = fc.nat(2);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('order' as const),
      items: fc.array(fc.tuple(product, fc.integer({ min: 1, max: 3 })), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('status' as const),
      order: fc.nat(20),
      status: fc.oneof(fc.constant('cancelled' as const), fc.constantFrom(...ORDER_STATUSES)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('stock' as const), product, stock: fc.nat(12) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('price' as const),
      product,
      price: fc.integer({ min: 1, max: 9 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), product }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sweep' as const) }) },
);
const batch: fc.Arbitrary<Batch> = fc.record({
  commands: fc.array(command, { minLength: 1, maxLength: 5, size: 'max' }),
  crash: fc.option(
    fc.record({
      nth: fc.integer({ min: 1, max: 6 }),
      when: fc.constantFrom('before' as const, 'after' as const),
    }),
    { nil: undefined, freq: 2 },
  ),
});

t.test('the books balance under concurrency and killed processes', async (t) => {
  let runs = 0;
  const property = fc.asyncProperty(
    fc.array(fc.integer({ min: 3, max: 20 }), { minLength: 3, maxLength: 3 }),
    fc.array(batch, { minLength: 4, maxLength: 16, size: 'max' }),
    async (stocks, batches) => {
      runs += 1;
      await checkRun(stocks, batches);
    },
  );
  // Without shrinking, which takes minutes: the seed in the message repeats it.
  await fc.assert(property, { numRuns: repetitions(100, 1 / 20), endOnFailure: true });
  t.comment(`${runs} runs, ${await orders.countDocuments({})} orders`);
  t.ok(runs > 0);
});
