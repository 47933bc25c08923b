import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { EarlierCreation, IdempotencyKey } from '@gatehouse/domain/idempotency-key';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import { amountOf, decimalsOf } from '@gatehouse/domain/money';
import { isCancellableByCustomer } from '@gatehouse/domain/order-status';
import type { Caller } from '@gatehouse/tokens/caller';
import { FRESH, requireSignIn } from '@gatehouse/tokens/step-up';
import {
  asPlaced,
  changeStatus,
  itemProblems,
  linesOf,
  type NewOrder,
  ORDER_LIMITS,
  type Order,
  type OrderChange,
  type OrderField,
  type OrderStore,
} from './order.ts';
import type { Offer } from './product.ts';

/** The caller: a person, limited by role and ownership, or a machine (undefined), which is not. */
export type Actor = { person: { id: string; role: string } | undefined } & Partial<
  Pick<Caller, 'acr' | 'actors' | 'authTime' | 'keyThumbprint'>
>;

/** The use cases of orders. For an order that the actor may not see they throw `not_found`, as if it did not exist. */
export type OrderService = {
  listFor(actor: Actor): ListSource<OrderField, Order>;
  create(draft: NewOrder & { id: string }, actor: Actor, key?: IdempotencyKey): Promise<Order>;
  /** The order that was created with a key, as it was then, for an actor who may place it now. */
  findByKey(key: IdempotencyKey, draft: NewOrder, actor: Actor): Promise<EarlierCreation<Order> | undefined>;
  read(id: string, actor: Actor): Promise<Order>;
  changeStatus(id: string, change: OrderChange, actor: Actor, ifVersion: IfVersion): Promise<Order>;
};

export function createOrderService(options: {
  store: OrderStore;
  /** The products with these ids that exist. */
  findProducts: (ids: readonly string[]) => Promise<ReadonlyMap<string, Offer>>;
  /** Throws `unavailable` when the users service cannot be asked. */
  userExists: (id: string) => Promise<boolean>;
  /** How many pending orders, which hold stock, a person may have placed for themselves. */
  maxPending: number;
  /** The total, in the currency of an order, above which a refund takes a fresh sign-in. */
  refundLimit?: number | undefined;
}): OrderService {
  const { store, findProducts, userExists, maxPending, refundLimit = Number.POSITIVE_INFINITY } = options;

  async function read(id: string, actor: Actor): Promise<Order> {
    const order = await store.findById(id, requiredCustomer(actor));
    if (order === undefined) throw new ServiceError('not_found', 'There is no such order.');
    return order;
  }

  return {
    listFor(actor) {
      const customer = requiredCustomer(actor);
      return customer === undefined ? store : store.within(customer);
    },

    async create(draft, actor, key) {
      const userId = customerOf(draft, actor);
      const { id, items, currency } = draft;
      const problems = itemProblems(items);
      if (decimalsOf(currency) === undefined) {
        problems.push({ field: 'currency', message: 'must be the ISO 4217 code of a currency, such as USD' });
      }
      if (problems.length > 0) throw invalidFields(problems);
      // A person who orders for themselves exists: the token of a deleted account is refused.
      const isOwn = userId === actor.person?.id;
      if (!isOwn && !(await userExists(userId))) {
        throw invalidFields([{ field: 'user_id', message: 'is not a user' }]);
      }
      const products = await findProducts([...new Set(items.map(({ productId }) => productId))]);
      const bill = linesOf(draft, products);
      if ('problems' in bill) throw invalidFields(bill.problems);
      // Known before anything is reserved, unless others are faster.
      const short = bill.lines.find(
        ({ productId, quantity }) => (products.get(productId)?.stock ?? 0) < quantity,
      );
      if (short !== undefined) throw notEnough(short.productId, products);
      const now = new Date();
      const order: Order = {
        id,
        userId,
        ...bill,
        currency,
        status: 'pending',
        version: 1,
        createdAt: now,
        updatedAt: now,
        history: [{ status: 'pending', at: now, note: null }],
      };
      const placement = await store.place(order, {
        ...{ key, actors: actor.actors },
        ...(isOwn ? { maxPending } : {}),
      });
      if (placement.isPlaced) return order;
      if ('lacking' in placement) throw notEnough(placement.lacking, products);
      throw new ServiceError(
        'conflict',
        `You have ${maxPending} pending orders, which is the maximum: cancel one, or wait until one is confirmed.`,
      );
    },

    async findByKey(key, draft, actor) {
      customerOf(draft, actor);
      const earlier = await store.findByKey(key);
      return earlier?.state === 'done' ? { ...earlier, created: asPlaced(earlier.created) } : earlier;
    },

    read,

    async changeStatus(id, change, actor, ifVersion) {
      if ([...(change.note ?? '')].length > ORDER_LIMITS.note) {
        throw invalidFields([
          { field: 'note', message: `must have at most ${ORDER_LIMITS.note} characters` },
        ]);
      }
      const isCustomer = requiredCustomer(actor) !== undefined;
      // Checked before the version: a 412 would disclose that the order exists. Its customer never changes.
      if (isCustomer) await read(id, actor);
      return store.update(
        id,
        (order) => {
          if (isCustomer && (change.status !== 'cancelled' || !isCancellableByCustomer(order))) {
            throw new ServiceError(
              'forbidden',
              'You may only cancel an order, while it is pending or confirmed: other changes are for editors, admins and trusted applications.',
            );
          }
          const isRefund = change.status === 'refunded';
          if (isRefund && amountOf(order.total, order.currency) > refundLimit) requireSignIn(actor, FRESH);
          return changeStatus(order, change, new Date());
        },
        ifVersion,
        actor.actors,
      );
    },
  };
}

function notEnough(productId: string, products: ReadonlyMap<string, Offer>): ServiceError {
  const name = products.get(productId)?.name;
  return new ServiceError('conflict', `There is not enough stock of ${name} (${productId}).`);
}

/** The customer to whose orders an actor's access is restricted; undefined if it is not restricted. */
function requiredCustomer({ person }: Actor): string | undefined {
  return person?.role === 'user' ? person.id : undefined;
}

/** For whom an order is placed: everybody for themselves, admins and machines for anyone. */
function customerOf({ userId }: NewOrder, { person }: Actor): string {
  if (userId === undefined) {
    if (person !== undefined) return person.id;
    throw invalidFields([{ field: 'user_id', message: 'is required' }]);
  }
  if (person !== undefined && person.role !== 'admin' && person.id !== userId) {
    throw new ServiceError(
      'forbidden',
      'You may order only for yourself: orders for others are for admins and trusted applications.',
    );
  }
  return userId;
}
