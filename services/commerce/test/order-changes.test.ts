import { ORDER_STATUSES } from '@gatehouse/domain/order-status';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import type { Order } from '../src/order.ts';
import { createOrderService } from '../src/order-service.ts';
import { createOrderStore } from '../src/store/order-store.ts';
import { openBooks, orderOf, STOCK } from './stock-books.ts';

const { orderStore, another, newProducts } = await openBooks(t);
const MACHINE = { person: undefined };
/** As in three processes. */
const services = [orderStore, ...[1, 2].map(() => createOrderStore(another(), { logger }))].map((store) =>
  createOrderService({
    store,
    findProducts: async () => new Map(),
    userExists: async () => true,
    maxPending: 1,
  }),
);
/** As staff see it. */
async function read(id: string): Promise<Order> {
  const order = await orderStore.findById(id);
  if (order === undefined) throw new Error('it is not there');
  return order;
}
const CHANGES = ['confirmed', 'processing', 'shipped', 'delivered', 'refunded'] as const;

async function placed(): Promise<Order> {
  const order = orderOf(await newProducts([STOCK]));
  await orderStore.place(order);
  return order;
}

t.test('one of several concurrent equal changes wins, also across processes', async (t) => {
  const { id } = await placed();
  for (const status of CHANGES) {
    const results = await Promise.allSettled(
      [...services, ...services].map((service, i) =>
        service.changeStatus(id, { status, note: `by ${i}` }, MACHINE, undefined),
      ),
    );
    const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    t.equal(lost.length, results.length - 1, status);
    for (const reason of lost) t.match(reason, { kind: 'conflict' });
    const [won] = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    t.same(await read(id), won, 'the history is that of the winner');
  }
  const { history, version } = await read(id);
  t.same(
    history.map(({ status }) => status),
    ['pending', ...CHANGES],
  );
  t.equal(version, history.length);
});

t.test('one of several concurrent changes of the same version wins', async (t) => {
  for (let round = 0; round < 10; round += 1) {
    const { id } = await placed();
    const results = await Promise.allSettled(
      services.map((service, i) => {
        const status = i % 2 === 0 ? 'confirmed' : 'cancelled';
        return service.changeStatus(id, { status, note: null }, MACHINE, [1]);
      }),
    );
    t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const result of results) {
      if (result.status === 'rejected') t.match(result.reason, { kind: 'precondition_failed' });
    }
    t.match(await read(id), { version: 2, history: [{}, {}] });
  }
});

t.test('concurrent changes leave no gap and no duplicate in the history', async (t) => {
  const { id } = await placed();
  const tries = ORDER_STATUSES.filter((status) => status !== 'cancelled');
  while ((await read(id)).status !== 'refunded') {
    const results = await Promise.allSettled(
      tries.flatMap((status) =>
        services.map((service) => service.changeStatus(id, { status, note: null }, MACHINE, undefined)),
      ),
    );
    for (const result of results)
      if (result.status === 'rejected') t.match(result.reason, { kind: 'conflict' });
  }
  const { history, version } = await read(id);
  t.same(
    history.map(({ status }) => status),
    ['pending', ...CHANGES],
  );
  t.equal(version, history.length);
  t.same(
    history.map(({ at }) => at.getTime()),
    history.map(({ at }) => at.getTime()).sort((a, b) => a - b),
  );
});
