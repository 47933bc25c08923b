import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { DocumentCollection } from '@gatehouse/data/collection';
import { LEASE_MS, type OrderWithStock, type Phase, type StockReservation } from './stock-reservation.ts';

/** The pause between two sweeps, and that after one that has found nothing. */
const SWEEP_MS = { next: 5000, rest: 20_000 };
const BATCH = 100;

/** Finishes or undoes the orders and reservations of processes that died. */
export function createStockSweep(options: {
  stock: StockReservation;
  products: DocumentCollection;
  orders: DocumentCollection;
  logger: Logger;
}): PeriodicTask {
  const { stock, products, orders, logger } = options;
  const NEXT: Record<Phase, (order: Parameters<StockReservation['settle']>[0]) => Promise<void>> = {
    reserving: stock.undo,
    undoing: stock.undo,
    settling: stock.settle,
    restocking: stock.restock,
    returned: stock.forgetReturn,
  };

  let hasFound = true;

  /** From the side of the orders: those whose lease has ended. Returns whether there may be more. */
  async function sweepOrders(signal: AbortSignal): Promise<boolean> {
    const due = await orders
      .find<OrderWithStock>(
        { 'stock.until': { $gt: new Date(0), $lte: new Date() } },
        { projection: { lines: 1, stock: 1 } },
      )
      .limit(BATCH)
      .toArray();
    if (due.length > 0) hasFound = true;
    for (const { _id, lines, stock: state } of due) {
      if (signal.aborted) return false;
      if (state === undefined) continue;
      await NEXT[state.phase]({ id: _id, lines }).catch(async (error: unknown) => {
        logger.warn({ err: error, order: _id, phase: state.phase }, 'the stock of an order was not settled');
        // Later, so that it does not keep the others waiting.
        const later = new Date(Date.now() + LEASE_MS);
        await orders.updateOne({ _id, 'stock.phase': state.phase }, { $set: { 'stock.until': later } });
      });
    }
    return due.length === BATCH;
  }

  /** From the side of the products: reservations for orders that do not exist (any more). */
  async function sweepProducts(signal: AbortSignal): Promise<void> {
    const old = new Date(Date.now() - 2 * LEASE_MS);
    const due = await products
      .find<{ _id: string; reservations: { order_id: string; quantity: number; at: Date }[] }>(
        { reservations: { $elemMatch: { at: { $gt: new Date(0), $lte: old } } } },
        { projection: { reservations: 1 } },
      )
      .limit(BATCH)
      .toArray();
    if (due.length > 0) hasFound = true;
    for (const { _id, reservations } of due) {
      for (const { order_id: id, quantity, at } of reservations) {
        if (signal.aborted) return;
        if (at > old) continue;
        const order = await orders.findOne<OrderWithStock>({ _id: id }, { projection: { stock: 1 } });
        if (order === null) await stock.release(_id, id, quantity);
        else if (order.stock === undefined)
          await stock.settle({ id, lines: [{ product_id: _id, quantity }] });
      }
    }
  }

  return createPeriodicTask({
    async run(signal) {
      hasFound = false;
      while (await sweepOrders(signal));
      await sweepProducts(signal);
    },
    everyMs: () => (hasFound ? SWEEP_MS.next : SWEEP_MS.rest),
    immediately: true,
    onError: (error) => logger.warn({ err: error }, 'a sweep of stock failed; the next one continues'),
  });
}
