import type { Logger } from '@gatehouse/kit/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/kit/periodic';
import type { DocumentCollection, IndexDefinition, StoredDocument } from '@gatehouse/mongo/collection';

/**
 * The stock of several products is reserved, and returned, without a transaction (docs/orders.md): each step is one
 * conditional write that happens once, however often it is tried. What an order still has to do with the stock is its field
 * `stock`; a reservation that is not settled yet is in the product, too, and so is a return.
 */

/** reserving → settling → none, or reserving → undoing → deleted; on cancellation restocking → returned → none. */
type Phase = 'reserving' | 'settling' | 'undoing' | 'restocking' | 'returned';
/** `until`: before that time only the process that has begun the phase goes on with it. */
export type StockState = { phase: Phase; until: Date };
type Line = { product_id: string; quantity: number };
type OrderWithStock = StoredDocument & { lines: Line[]; stock?: StockState };

/** How long one process may take for a phase before another takes over. */
const LEASE_MS = 10_000;
/** How long it may take to place an order before a request with the same Idempotency-Key takes over. */
const RETRY_MS = 2000;
/** How long a product remembers that stock was returned: longer than any process could lag behind. */
const REMEMBERED_MS = 600_000;
const SWEEP_MS = 5000;
const BATCH = 100;

export const STOCK_STATE_INDEX: IndexDefinition = {
  fields: { 'stock.until': 1 },
  options: { name: 'stock', partialFilterExpression: { 'stock.until': { $gt: new Date(0) } } },
};
export const RESERVATIONS_INDEX: IndexDefinition = {
  fields: { 'reservations.at': 1 },
  options: { name: 'reservations', partialFilterExpression: { 'reservations.at': { $gt: new Date(0) } } },
};

/** The state of an order that is about to be in a phase, now or after a time in milliseconds. */
export function stockState(phase: Phase, ms = LEASE_MS): StockState {
  return { phase, until: new Date(Date.now() + ms) };
}

/** Whether the process that has begun to place an order may still be at it, so that a repeated request has to wait. */
export function isPlacing({ phase, until }: StockState): boolean {
  return phase === 'reserving' && until.getTime() - LEASE_MS + RETRY_MS > Date.now();
}

export type StockReservation = {
  /** Reserves all lines of an order, whose phase is `reserving`. Returns the product whose stock does not suffice. */
  reserve(orderId: string, lines: readonly Line[]): Promise<string | undefined>;
  /** Gives back what an order that was not placed has reserved, and deletes it. */
  undo(orderId: string): Promise<void>;
  /** Removes the reservations of an order that was placed: its stock is sold. */
  settle(orderId: string, lines: readonly Line[]): Promise<void>;
  /** Returns the stock of a cancelled order. */
  restock(orderId: string, lines: readonly Line[]): Promise<void>;
  /** Finishes or undoes what a process that died has left; runs every five seconds. */
  sweeper: PeriodicTask;
};

export function createStockReservation(options: {
  products: DocumentCollection;
  orders: DocumentCollection;
  logger: Logger;
}): StockReservation {
  const { products, logger } = options;
  const orders = options.orders as unknown as DocumentCollection;

  /** Changes the stock of a product if the filter matches it. The version keeps it from being overwritten. */
  async function move(
    { product_id: _id }: Pick<Line, 'product_id'>,
    by: number,
    filter: Record<string, unknown>,
    update: Record<string, unknown>,
  ): Promise<boolean> {
    const { matchedCount } = await products.updateOne({ _id, name_key: { $gt: '' }, ...filter }, {
      ...update,
      $inc: { stock: by, version: 1 },
      $max: { updated_at: new Date() },
    } as never);
    return matchedCount === 1;
  }

  async function reserve(orderId: string, lines: readonly Line[]): Promise<string | undefined> {
    for (const line of lines) {
      const { product_id, quantity } = line;
      const filter = {
        status: 'active',
        stock: { $gte: quantity },
        'reservations.order_id': { $ne: orderId },
      };
      const reservation = { order_id: orderId, quantity, at: new Date() };
      if (await move(line, -quantity, filter, { $push: { reservations: reservation } })) continue;
      // An earlier attempt at the same order may have reserved it.
      const reserved = { _id: product_id, reservations: { $elemMatch: { order_id: orderId, quantity } } };
      if ((await products.findOne(reserved, { projection: { _id: 1 } })) === null) return product_id;
    }
    return undefined;
  }

  async function release(productId: string, orderId: string, quantity: number): Promise<void> {
    await move(
      { product_id: productId },
      quantity,
      { 'reservations.order_id': orderId },
      { $pull: { reservations: { order_id: orderId } } },
    );
  }

  async function undo(orderId: string): Promise<void> {
    const order = (await orders.findOneAndUpdate(
      { _id: orderId, 'stock.phase': { $in: ['reserving', 'undoing'] } },
      { $set: { stock: stockState('undoing') } },
    )) as OrderWithStock | null;
    if (order === null) return;
    for (const { product_id, quantity } of order.lines) await release(product_id, orderId, quantity);
    await orders.deleteOne({ _id: orderId, 'stock.phase': 'undoing' });
  }

  async function settle(orderId: string, lines: readonly Line[]): Promise<void> {
    await products.updateMany(
      { _id: { $in: lines.map(({ product_id }) => product_id) }, 'reservations.order_id': orderId },
      { $pull: { reservations: { order_id: orderId } } } as never,
    );
    await orders.updateOne({ _id: orderId, 'stock.phase': 'settling' }, { $unset: { stock: '' } });
  }

  async function restock(orderId: string, lines: readonly Line[]): Promise<void> {
    for (const line of lines) {
      await move(
        line,
        line.quantity,
        { returns: { $ne: orderId } },
        { $push: { returns: orderId }, $pull: { reservations: { order_id: orderId } } },
      );
    }
    await orders.updateOne(
      { _id: orderId, 'stock.phase': 'restocking' },
      { $set: { stock: stockState('returned', REMEMBERED_MS) } },
    );
  }

  async function forgetReturn(orderId: string, lines: readonly Line[]): Promise<void> {
    await products.updateMany({ _id: { $in: lines.map(({ product_id }) => product_id) }, returns: orderId }, {
      $pull: { returns: orderId },
    } as never);
    await orders.updateOne({ _id: orderId, 'stock.phase': 'returned' }, { $unset: { stock: '' } });
  }

  const NEXT: Record<Phase, (id: string, lines: readonly Line[]) => Promise<void>> = {
    reserving: undo,
    undoing: undo,
    settling: settle,
    restocking: restock,
    returned: forgetReturn,
  };

  /** From the side of the orders: those in one of these phases whose lease has ended. Returns whether there may be more. */
  async function sweepOrders(phases: readonly Phase[], signal: AbortSignal): Promise<boolean> {
    const due = (await orders
      .find(
        { 'stock.until': { $gt: new Date(0), $lte: new Date() }, 'stock.phase': { $in: [...phases] } },
        { projection: { lines: 1, stock: 1 } },
      )
      .limit(BATCH)
      .toArray()) as unknown as OrderWithStock[];
    for (const { _id, lines, stock } of due) {
      if (signal.aborted) return false;
      if (stock === undefined) continue;
      await NEXT[stock.phase](_id, lines).catch(async (error: unknown) => {
        logger.warn({ err: error, order: _id, phase: stock.phase }, 'the stock of an order was not settled');
        // Later, so that it does not keep the others waiting.
        const later = new Date(Date.now() + LEASE_MS);
        await orders.updateOne({ _id, 'stock.phase': stock.phase }, { $set: { 'stock.until': later } });
      });
    }
    return due.length === BATCH;
  }

  /** From the side of the products: reservations for orders that do not exist (any more). */
  async function sweepProducts(signal: AbortSignal): Promise<void> {
    const old = new Date(Date.now() - 2 * LEASE_MS);
    const due = await products
      .find(
        { reservations: { $elemMatch: { at: { $gt: new Date(0), $lte: old } } } },
        { projection: { reservations: 1 } },
      )
      .limit(BATCH)
      .toArray();
    for (const { _id, reservations } of due) {
      for (const { order_id, quantity, at } of reservations as {
        order_id: string;
        quantity: number;
        at: Date;
      }[]) {
        if (signal.aborted) return;
        if (at > old) continue;
        const order = (await orders.findOne(
          { _id: order_id },
          { projection: { stock: 1 } },
        )) as OrderWithStock | null;
        if (order === null) await release(_id, order_id, quantity);
        else if (order.stock === undefined) await settle(order_id, [{ product_id: _id, quantity }]);
      }
    }
  }

  const sweeper = createPeriodicTask({
    async run(signal) {
      while (await sweepOrders(['reserving', 'undoing', 'settling', 'restocking'], signal));
      await sweepProducts(signal);
      while (await sweepOrders(['returned'], signal));
    },
    everyMs: SWEEP_MS,
    immediately: true,
    onError: (error) => logger.warn({ err: error }, 'a sweep of stock failed; the next one continues'),
  });

  return { reserve, undo, settle, restock, sweeper };
}
