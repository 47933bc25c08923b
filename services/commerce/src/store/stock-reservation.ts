import { createBatches } from '@gatehouse/data/batches';
import type { DocumentCollection, IndexDefinition, StoredDocument } from '@gatehouse/data/collection';
import mongoose from 'mongoose';

/**
 * The stock of several products is reserved, and returned, without a transaction (docs/orders.md): each step is one conditional write that
 * takes effect once, however often it is tried. The field `stock` of an order says which steps it still has to do. A product has its own
 * list of reservations that are not settled yet, and of returns.
 */

/** reserving → settling → none, or reserving → undoing → deleted; on cancellation restocking → returned → none. */
export type Phase = 'reserving' | 'settling' | 'undoing' | 'restocking' | 'returned';
/** Until this time, only the process that has begun the phase goes on with it. */
export type StockState = { phase: Phase; until: Date };
type Line = { product_id: string; quantity: number };
type LinesOf = { id: string; lines: readonly Line[] };
export type OrderWithStock = StoredDocument & { lines: Line[]; stock?: StockState };
type StockOfProduct = StoredDocument & {
  /** How often stock has been returned. */
  returned?: number;
  /** The orders whose stock has been returned and that may still be in the phase `restocking`. */
  returns?: string[];
};

/** How long one process may take for a phase before another takes over. */
export const LEASE_MS = 10_000;
/** How long it may take to place an order before a request with the same Idempotency-Key takes over. */
const RETRY_MS = 2000;
const BATCH = 100;
/** The code of an error of MongoDB: a value cannot be converted to another type. */
const CONVERSION_FAILURE = 241;

export const STOCK_STATE_INDEX: IndexDefinition = {
  fields: { 'stock.until': 1 },
  options: { name: 'stock', partialFilterExpression: { 'stock.until': { $gt: new Date(0) } } },
};
export const RESERVATIONS_INDEX: IndexDefinition = {
  fields: { 'reservations.at': 1 },
  options: { name: 'reservations', partialFilterExpression: { 'reservations.at': { $gt: new Date(0) } } },
};

/** The state of an order that is about to be in a phase. */
export function stockState(phase: Phase): StockState {
  return { phase, until: new Date(Date.now() + LEASE_MS) };
}

/** Whether the process that began to place an order may still be working on it, so that a repeated request has to wait. */
export function isPlacing({ phase, until }: StockState): boolean {
  return phase === 'reserving' && until.getTime() - LEASE_MS + RETRY_MS > Date.now();
}

export type StockReservation = {
  /** Reserves all lines of an order, whose phase is `reserving`. Returns the product whose stock does not suffice. */
  reserve(order: LinesOf): Promise<string | undefined>;
  /** Gives back what an order that was not placed has reserved, and deletes it. */
  undo(order: Pick<LinesOf, 'id'>): Promise<void>;
  /** Removes the reservations of an order that was placed: its stock is sold. */
  settle(order: LinesOf): Promise<void>;
  /** Returns the stock of a cancelled order. */
  restock(order: LinesOf): Promise<void>;
  /** Forgets that the stock of an order was returned, which is final by then. */
  forgetReturn(order: LinesOf): Promise<void>;
  /** Gives back what is reserved of a product for an order that does not exist. */
  release(productId: string, orderId: string, quantity: number): Promise<void>;
};

export function createStockReservation({
  products,
  orders,
}: {
  products: DocumentCollection;
  orders: DocumentCollection;
}): StockReservation {
  async function reserve({ id, lines }: LinesOf): Promise<string | undefined> {
    const writes = lines.map((line) => ({ updateOne: reservationOf(id, line) }));
    try {
      // In the order of the products, and no further than to the first whose stock does not suffice. So of several orders of the same
      // products, the first to reserve one is the first to reserve them all.
      const { matchedCount } = await products.bulkWrite(writes as never, { ordered: true });
      if (matchedCount === lines.length) return undefined;
    } catch (error) {
      if (!(error instanceof mongoose.mongo.MongoBulkWriteError) || error.code !== CONVERSION_FAILURE)
        throw error;
      const [failed] = [error.writeErrors].flat();
      return lines[failed?.index ?? 0]?.product_id;
    }
    // Either a product is gone, or the driver has repeated writes that had already been made.
    const reserved = await products
      .find(
        { 'reservations.order_id': id, _id: { $in: productsOf([{ lines }]) } },
        { projection: { _id: 1 } },
      )
      .toArray();
    const found = new Set(reserved.map(({ _id }) => _id));
    return lines.find(({ product_id }) => !found.has(product_id))?.product_id;
  }

  async function release(_id: string, orderId: string, quantity: number): Promise<void> {
    await products.updateOne({ _id, ...EXISTS, 'reservations.order_id': orderId }, {
      ...moveStock(quantity),
      $pull: { reservations: { order_id: orderId } },
    } as never);
  }

  async function undo({ id }: Pick<LinesOf, 'id'>): Promise<void> {
    const order = (await orders.findOneAndUpdate(
      { _id: id, 'stock.phase': { $in: ['reserving', 'undoing'] } },
      { $set: { stock: stockState('undoing') } },
    )) as OrderWithStock | null;
    if (order === null) return;
    for (const { product_id, quantity } of order.lines) await release(product_id, id, quantity);
    await orders.deleteOne({ _id: id, 'stock.phase': 'undoing' });
  }

  async function settleAll(placed: readonly LinesOf[]): Promise<void> {
    const ids = placed.map(({ id }) => id);
    await products.updateMany({ _id: { $in: productsOf(placed) }, 'reservations.order_id': { $in: ids } }, {
      $pull: { reservations: { order_id: { $in: ids } } },
    } as never);
    await orders.updateMany({ _id: { $in: ids }, 'stock.phase': 'settling' }, { $unset: { stock: '' } });
  }

  /**
   * Returns stock once, however many processes try and however late they are: a product is changed only if none was returned
   * to it since it was read, and after it was read the order was still in the phase `restocking`, which it leaves only once
   * all its stock is returned. Until it has left it, the product knows the order.
   */
  async function restockAll(cancelled: readonly LinesOf[]): Promise<void> {
    const ids = cancelled.map(({ id }) => id);
    const isRestocking = { _id: { $in: ids }, 'stock.phase': 'restocking' };
    for (let isDone = false; !isDone; ) {
      const found = await products
        .find<StockOfProduct>(
          { _id: { $in: productsOf(cancelled) }, ...EXISTS },
          { projection: { returned: 1, returns: 1 } },
        )
        .toArray();
      const restocking = await orders.find(isRestocking, { projection: { _id: 1 } }).toArray();
      const open = new Set(restocking.map(({ _id }) => _id));
      const due = cancelled.filter(({ id }) => open.has(id));
      const writes = found.flatMap((product) => returnsTo(product, due));
      if (writes.length === 0) break;
      const { matchedCount } = await products.bulkWrite(writes as never, { ordered: false });
      isDone = matchedCount === writes.length;
    }
    await orders.updateMany(isRestocking, { $set: { stock: stockState('returned') } });
  }

  async function forgetReturns(returned: readonly LinesOf[]): Promise<void> {
    const ids = returned.map(({ id }) => id);
    await products.updateMany({ _id: { $in: productsOf(returned) }, returns: { $in: ids } }, {
      $pull: { returns: { $in: ids } },
    } as never);
    await orders.updateMany({ _id: { $in: ids }, 'stock.phase': 'returned' }, { $unset: { stock: '' } });
  }

  return {
    reserve,
    undo,
    release,
    settle: together(settleAll),
    restock: together(restockAll),
    forgetReturn: together(forgetReturns),
  };
}

/** In batches, so that many orders of one product do not contend for it. */
function together<T>(run: (items: readonly T[]) => Promise<void>): (item: T) => Promise<void> {
  return createBatches<T, void>({
    max: BATCH,
    async run(items) {
      await run(items);
      return [];
    },
  });
}

/** Matches products that were not deleted. */
const EXISTS = { name_key: { $gt: '' } };

function productsOf(orders: readonly Pick<LinesOf, 'lines'>[]): string[] {
  return [...new Set(orders.flatMap(({ lines }) => lines.map(({ product_id }) => product_id)))];
}

/** Changes the stock of a product, and its entity tag, but not the version, so that it conflicts with no edit. */
function moveStock(by: number) {
  return { $inc: { stock: by, stock_version: 1 }, $max: { updated_at: new Date() } };
}

/** The write that takes the stock of a line, and notes for which order. Fails if it does not suffice, which ends an ordered bulk write. */
export function reservationOf(orderId: string, { product_id: _id, quantity }: Line) {
  const suffices = { $and: [{ $eq: ['$status', 'active'] }, { $gte: ['$stock', quantity] }] };
  // A condition that does not match would let the bulk write go on. This conversion fails instead, since no id is a number.
  const $expr = { $cond: [suffices, true, { $toInt: '$_id' }] };
  return {
    filter: { _id, ...EXISTS, 'reservations.order_id': { $ne: orderId }, $expr },
    update: {
      ...moveStock(-quantity),
      $push: { reservations: { order_id: orderId, quantity, at: new Date() } },
    },
  };
}

/** The write that returns to a product the stock of these orders, except those in its `returns`; undefined if there are none. */
function returnsTo({ _id, returned = 0, returns = [] }: StockOfProduct, orders: readonly LinesOf[]) {
  const due = orders.filter(({ id }) => !returns.includes(id));
  const lines = due.flatMap(({ id, lines }) =>
    lines.filter(({ product_id }) => product_id === _id).map(({ quantity }) => ({ id, quantity })),
  );
  if (lines.length === 0) return [];
  const { $inc, $max } = moveStock(lines.reduce((sum, { quantity }) => sum + quantity, 0));
  const ids = lines.map(({ id }) => id);
  const filter = { _id, ...EXISTS, returned: returned === 0 ? { $in: [0, null] } : returned };
  const update = {
    $inc: { ...$inc, returned: 1 },
    $max,
    $push: { returns: { $each: ids } },
    $pull: { reservations: { order_id: { $in: ids } } },
  };
  return [{ updateOne: { filter, update } }];
}
