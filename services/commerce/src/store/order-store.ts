import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { DELETED_USER_ID } from '@gatehouse/core/ids';
import type { Logger } from '@gatehouse/core/logger';
import type { IndexDefinition, StoredDocument } from '@gatehouse/data/collection';
import {
  createDocumentKeys,
  IDEMPOTENCY_FIELD,
  IDEMPOTENCY_INDEXES,
  idempotencyFields,
} from '@gatehouse/data/document-keys';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { createDocumentStore } from '@gatehouse/data/document-store';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { inBatches } from '@gatehouse/data/erasures';
import { createListPlan } from '@gatehouse/data/list-plan';
import { OUTBOX_INDEX, outboxEvent } from '@gatehouse/data/outbox';
import { insertInSlot } from '@gatehouse/data/slots';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { StoredOf } from '@gatehouse/domain/fields';
import { amountOf } from '@gatehouse/domain/money';
import type { Collection, Connection } from 'mongoose';
import { ORDER, type Order, type OrderStore } from '../order.ts';
import {
  createStockReservation,
  isPlacing,
  STOCK_STATE_INDEX,
  type StockState,
  stockState,
} from './stock-reservation.ts';
import { createStockSweep } from './stock-sweep.ts';

/** As stored. An order whose stock is still being reserved has only its lines and the state of its stock. */
export type OrderDocument = StoredOf<typeof ORDER> &
  VersionedDocument & {
    /** As an amount, by which lists are sorted and filtered. */
    total: number;
    stock?: StockState;
    /** Where pending orders of a user are counted: its place among them. */
    pending?: { user_id: string; slot: number } | null;
  };

const { projection, read, write, listFields } = createDocumentMapper(ORDER);

const PENDING_INDEX: IndexDefinition = {
  fields: { 'pending.user_id': 1, 'pending.slot': 1 },
  options: { name: 'pending', unique: true, partialFilterExpression: { 'pending.slot': { $gte: 0 } } },
};

/** Marks an order that is not placed yet, which is hidden like a deleted one. Tombstones have later times. */
const NOT_YET = new Date(0);

const LISTS = createListPlan({
  fields: listFields,
  prefix: 'user_id',
  notDeleted: { status: { $gt: '' } },
});

type Orders = Collection<StoredDocument>;

/** Orders in MongoDB; defines its collection on the connection. The products must be defined, too. */
export function createOrderStore(connection: Connection, { logger }: { logger: Logger }) {
  const store = createDocumentStore(connection, {
    name: 'orders',
    noun: 'order',
    plan: LISTS,
    indexes: [OUTBOX_INDEX, STOCK_STATE_INDEX, PENDING_INDEX, ...IDEMPOTENCY_INDEXES],
    projection,
    read,
    write: fieldsOf,
    duplicate: () => new ServiceError('conflict', 'This order already exists.'),
  });
  const orders = connection.collection<StoredDocument>('orders');
  const products = connection.collection<StoredDocument>('products');
  const stock = createStockReservation({ products, orders });
  const keys = createDocumentKeys<OrderDocument>(orders, {
    projection: { ...projection, stock: 1 },
    logger,
  });

  const orderStore: OrderStore = {
    ...store,
    async findByKey(key) {
      const found = await keys.find(key);
      if (found?.state !== 'found') return found;
      const { document } = found;
      if (document.status !== undefined) return { state: 'done', created: read(document) };
      if (document.stock !== undefined && isPlacing(document.stock)) return { state: 'running' };
      await stock.undo({ id: document._id });
      return undefined;
    },

    async place(order, { key, maxPending, actors } = {}) {
      const { id } = order;
      const { lines, ...others } = fieldsOf(order);
      const intent = { _id: id, lines, deleted_at: NOT_YET, ...idempotencyFields(key) };
      if (!(await insertIntent(orders, intent, order.userId, maxPending)))
        return { isPlaced: false, isOverLimit: true };
      const lacking = await stock.reserve({ id, lines });
      if (lacking !== undefined) {
        await stock.undo({ id });
        return { isPlaced: false, lacking };
      }
      const placed = { ...others, stock: stockState('settling') };
      const { matchedCount } = await orders.updateOne({ _id: id, 'stock.phase': 'reserving' }, {
        $set: placed,
        $unset: { deleted_at: '' },
        $push: { outbox: outboxEvent('commerce.order.created', eventData(order, actors)) },
      } as never);
      if (matchedCount === 0) throw unavailable('The order took too long, and was not placed.');
      // If this fails, the sweep does it.
      stock.settle({ id, lines }).catch(() => {});
      return { isPlaced: true };
    },

    async update(id, decide, ifVersion, actors) {
      const { next } = await store.update(
        id,
        (current, revision) => {
          const next = { ...decide(current), ...revision };
          return { next, events: [{ subject: 'commerce.order.changed', data: eventData(next, actors) }] };
        },
        ifVersion,
      );
      if (next.status === 'cancelled') await returnStock(next).catch(() => {});
      return next;
    },

    makeAnonymous: (userId) => makeAnonymous(orders, userId),
  };

  async function returnStock({ id, lines }: Order): Promise<void> {
    const order = {
      id,
      lines: lines.map(({ productId, quantity }) => ({ product_id: productId, quantity })),
    };
    await stock.restock(order);
    // If this fails, the sweep does it.
    stock.forgetReturn(order).catch(() => {});
  }

  const sweeper = createStockSweep({ stock, products, orders, logger });
  return { ...orderStore, sweeper, keySweeper: keys.sweeper };
}

async function makeAnonymous(orders: Orders, userId: string): Promise<void> {
  const withoutNotes = {
    $map: { input: '$history', in: { $mergeObjects: ['$$this', { note: null }] } },
  };
  await inBatches(orders, { user_id: userId }, (ids) =>
    orders.updateMany({ _id: { $in: ids } }, [
      {
        $set: {
          user_id: DELETED_USER_ID,
          pending: null,
          history: withoutNotes,
          version: { $add: [{ $ifNull: ['$version', 0] }, 1] },
        },
      },
      { $unset: 'idempotency' },
    ]),
  );
}

/** Stores an order that is not placed yet: no list, read or change sees it. Returns whether it is within the limit. */
async function insertIntent(
  orders: Orders,
  intent: StoredDocument,
  userId: string,
  maxPending: number | undefined,
): Promise<boolean> {
  const insert = (more: Pick<OrderDocument, 'pending'> = {}) =>
    orders.insertOne({ ...intent, ...more, stock: stockState('reserving') }).catch((error: unknown) => {
      const field = duplicateKeyField(error);
      if (field === '_id') throw new ServiceError('conflict', 'This order already exists.');
      if (field !== IDEMPOTENCY_FIELD) throw error;
      throw new ServiceError('conflict', 'An order with this Idempotency-Key is being placed.', {
        headers: { 'retry-after': '1' },
      });
    });
  if (maxPending === undefined) {
    await insert();
    return true;
  }
  return insertInSlot({
    limit: maxPending,
    field: 'pending.user_id',
    guess: true,
    async taken() {
      const filter = { 'pending.user_id': userId, 'pending.slot': { $gte: 0 } };
      const found = orders.find<OrderDocument>(filter, { projection: { _id: 0, 'pending.slot': 1 } });
      return (await found.toArray()).map(({ pending }) => ({ slot: pending?.slot }));
    },
    insert: (slot) => insert({ pending: { user_id: userId, slot } }),
  });
}

function eventData(order: Order, actors: readonly string[] | undefined) {
  const { id, userId, status, version, total, currency, createdAt, updatedAt, lines } = order;
  return {
    id,
    user_id: userId,
    status,
    version,
    currency,
    total_amount: amountOf(total, currency),
    items: lines.map(({ productId, quantity }) => ({ product_id: productId, quantity })),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
    ...(actors && { actors }),
  };
}

/** The stored fields. */
function fieldsOf(order: Order): Omit<OrderDocument, '_id'> {
  const { currency, total, status } = order;
  return {
    ...write(order),
    total: amountOf(total, currency),
    ...(status === 'pending' ? {} : { pending: null }),
    // In the same write as the cancellation: if this process dies, a sweep returns the stock.
    ...(status === 'cancelled' ? { stock: stockState('restocking') } : {}),
  };
}
