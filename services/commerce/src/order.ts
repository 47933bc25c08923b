import { type FieldProblem, ServiceError } from '@gatehouse/core/errors';
import {
  date,
  type EntityOf,
  id,
  type ListFieldOf,
  listOf,
  number,
  oneOf,
  text,
} from '@gatehouse/domain/fields';
import type { EarlierCreation, IdempotencyKey } from '@gatehouse/domain/idempotency-key';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import { MAX_MINOR_UNITS } from '@gatehouse/domain/money';
import { ORDER_STATUSES, ORDER_TRANSITIONS, type OrderStatus } from '@gatehouse/domain/order-status';
import type { Offer } from './product.ts';

const LINE = {
  productId: text(),
  quantity: number(),
  /** The price of one piece when the order was placed, in minor units. */
  unitPrice: number().stored('unit_price_minor'),
};
export type OrderLine = EntityOf<typeof LINE>;
export type OrderItem = Omit<OrderLine, 'unitPrice'>;

export const ORDER = {
  id: id(),
  userId: text().list(),
  status: oneOf(ORDER_STATUSES).list(),
  /** One for each product, in the order of the product ids. */
  lines: listOf(LINE),
  currency: text().list(),
  /** In minor units. Lists compare the amount. */
  total: number().stored('total_minor').list({ stored: 'total' }),
  /** All statuses so far, the current one last. */
  history: listOf({ status: oneOf(ORDER_STATUSES), at: date(), note: text().default(null) }),
  version: number().default(0),
  createdAt: date().list(),
  updatedAt: date().list(),
};
export type Order = EntityOf<typeof ORDER>;

/** The fields that lists of orders are sorted and filtered by. */
export type OrderField = ListFieldOf<typeof ORDER>;

export type NewOrder = { userId?: string; items: readonly OrderItem[]; currency: string };
export type OrderChange = { status: OrderStatus; note?: string | null };

/** The outcome of placing an order: it is placed, the stock of a product does not suffice, or the customer has too many pending orders. */
export type Placement =
  | { isPlaced: true }
  | { isPlaced: false; lacking: string }
  | { isPlaced: false; isOverLimit: true };

type Actors = readonly string[] | undefined;

/** The store as the use cases need it. Its lists are of all orders or, with `within`, of one user's. */
export type OrderStore = ListSource<OrderField, Order> & {
  within(userId: string): ListSource<OrderField, Order>;
  findById(id: string, userId?: string): Promise<Order | undefined>;
  /** The order that was placed with a key, as it is now. An unfinished attempt whose process has died is undone. */
  findByKey(key: IdempotencyKey): Promise<EarlierCreation<Order> | undefined>;
  /**
   * Reserves the stock of all lines and stores the order with the key, or does neither. Throws `unavailable` if it took too
   * long, and `conflict` if the key is taken. With `maxPending`, the order is placed only if its customer has fewer pending
   * ones that were placed with it. The event names the `actors`, the applications that act for the caller.
   */
  place(
    order: Order,
    options?: { key?: IdempotencyKey | undefined; maxPending?: number; actors?: Actors },
  ): Promise<Placement>;
  /** Calls `decide` with the current order. Throws `not_found`, `precondition_failed`, and what `decide` throws. */
  update(
    id: string,
    decide: (current: Order) => Order,
    ifVersion: IfVersion,
    actors?: Actors,
  ): Promise<Order>;
  /** Removes the customer and all notes from a person's orders, which are kept for bookkeeping. */
  makeAnonymous(userId: string): Promise<void>;
};

export const ORDER_LIMITS = { items: 200, quantity: 1_000_000, note: 500 };

/** The problems of the items of a new order. */
export function itemProblems(items: readonly OrderItem[]): FieldProblem[] {
  if (items.length === 0 || items.length > ORDER_LIMITS.items) {
    return [{ field: 'items', message: `must have 1 to ${ORDER_LIMITS.items} entries` }];
  }
  return items.flatMap(({ quantity }, i) =>
    Number.isInteger(quantity) && quantity >= 1 && quantity <= ORDER_LIMITS.quantity
      ? []
      : [
          {
            field: `items.${i}.quantity`,
            message: `must be a whole number from 1 to ${ORDER_LIMITS.quantity}`,
          },
        ],
  );
}

/**
 * The lines of a new order at the prices of the products, quantities of one product added up; or its problems. `products` are
 * those of the items that exist.
 */
export function linesOf(
  { items, currency }: NewOrder,
  products: ReadonlyMap<string, Offer>,
): { lines: OrderLine[]; total: number } | { problems: FieldProblem[] } {
  const problems: FieldProblem[] = [];
  const lines = new Map<string, OrderLine>();
  for (const [i, { productId, quantity }] of items.entries()) {
    const product = products.get(productId);
    if (product === undefined || product.status !== 'active') {
      problems.push({ field: `items.${i}.product_id`, message: 'is not a product that can be ordered' });
    } else if (product.currency !== currency) {
      problems.push({
        field: 'currency',
        message: `must be ${product.currency}, the currency of ${productId}`,
      });
    } else {
      const already = lines.get(productId)?.quantity ?? 0;
      lines.set(productId, { productId, quantity: already + quantity, unitPrice: product.price });
    }
  }
  // A product of each sum stays below 2^53 only if the total does, which is checked by division.
  let total = 0;
  for (const { productId, quantity, unitPrice } of lines.values()) {
    if (quantity > ORDER_LIMITS.quantity) {
      const message = `must have at most ${ORDER_LIMITS.quantity} pieces of ${productId} in all`;
      problems.push({ field: 'items', message });
    }
    if (unitPrice > (MAX_MINOR_UNITS - total) / quantity) {
      problems.push({ field: 'items', message: 'exceed the maximum amount of an order' });
      break;
    }
    total += quantity * unitPrice;
  }
  if (problems.length > 0) return { problems };
  return { lines: [...lines.values()].sort((a, b) => (a.productId < b.productId ? -1 : 1)), total };
}

/** The order in another status. Throws `conflict` if that cannot follow the current one. */
export function changeStatus(order: Order, { status, note = null }: OrderChange, at: Date): Order {
  const following = ORDER_TRANSITIONS[order.status];
  if (!following.includes(status)) {
    const next = following.join(' or ');
    const possible = next === '' ? 'it is final' : `next is ${next}`;
    throw new ServiceError(
      'conflict',
      `An order that is ${order.status} cannot become ${status}: ${possible}.`,
    );
  }
  return { ...order, status, history: [...order.history, { status, at, note }] };
}

/** The order as it was when it was placed: afterwards only the status, and the fields that go with it, change. */
export function asPlaced(order: Order): Order {
  const [placed] = order.history;
  if (placed === undefined) return order;
  return { ...order, status: placed.status, history: [placed], version: 1, updatedAt: order.createdAt };
}
