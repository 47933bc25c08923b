import { plainBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { documentedLimits } from '@gatehouse/api/http/schema';
import { bareArray, pageEnvelopeWithPages } from '@gatehouse/api/lists/paging';
import { createEntityProfile, type PropertyShape } from '@gatehouse/api/resource/entity-profile';
import type { ListProfile, Profile } from '@gatehouse/api/resource/profile';
import type { Resource, ResourcePath } from '@gatehouse/api/resource/resource';
import { inSnakeCase } from '@gatehouse/domain/fields';
import { amountOf, CURRENCIES } from '@gatehouse/domain/money';
import { ORDER_STATUSES, type OrderStatus } from '@gatehouse/domain/order-status';
import { Type } from 'typebox';
import {
  type NewOrder,
  ORDER,
  ORDER_LIMITS,
  type Order,
  type OrderChange,
  type OrderField,
} from '../order.ts';
import type { OrderService } from '../order-service.ts';

export type OrderTypes = { entity: Order; field: OrderField; draft: NewOrder; changes: OrderChange };

const READ = ['read:data', 'read:all'];
export const WRITE = ['write:data'];

const Status = Type.Unsafe<OrderStatus>({ type: 'string', enum: [...ORDER_STATUSES] });
const Currency = Type.String({
  description: 'The ISO 4217 code of the currency of all products.',
  ...documentedLimits({ enum: CURRENCIES }),
});
const Timestamp = Type.String({ format: 'date-time' });
const Amount = (description: string) => Type.Number({ description });
const ProductId = Type.String({ description: 'The id of a product.' });
const QUANTITY = { minimum: 1, maximum: ORDER_LIMITS.quantity };
const TextOrNull = (description?: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...(description && { description }) });

/** Every property of an order, and of its drafts and changes, in requests and responses. */
const ORDER_SHAPES = {
  id: { output: Type.String({ description: 'Opaque.' }) },
  userId: {
    input: Type.String({
      description:
        'The customer; the caller unless given. Only admins and trusted applications order for others.',
    }),
    output: Type.String({ description: 'The customer.' }),
  },
  status: { input: Status, example: 'confirmed', output: Status },
  note: { input: TextOrNull(`At most ${ORDER_LIMITS.note} characters.`), example: 'Paid.' },
  items: {
    input: Type.Array(
      Type.Object({ product_id: ProductId, quantity: Type.Integer({ ...documentedLimits(QUANTITY) }) }),
      {
        description: `1 to ${ORDER_LIMITS.items} entries. Those of the same product are added up.`,
        ...documentedLimits({ minItems: 1, maxItems: ORDER_LIMITS.items }),
      },
    ),
    take: (items: { product_id: string; quantity: number }[]) =>
      items.map(({ product_id: productId, quantity }) => ({ productId, quantity })),
  },
  lines: {
    name: 'items',
    output: Type.Array(
      Type.Object({
        product_id: ProductId,
        quantity: Type.Integer(QUANTITY),
        unit_price: Amount('The price of one piece when the order was placed.'),
        line_total: Amount('The price of all pieces.'),
      }),
    ),
    show: ({ lines, currency }) =>
      lines.map(({ productId, quantity, unitPrice }) => ({
        product_id: productId,
        quantity,
        unit_price: amountOf(unitPrice, currency),
        line_total: amountOf(unitPrice * quantity, currency),
      })),
  },
  currency: { input: Currency, output: Currency },
  total: {
    name: 'total_amount',
    output: Amount('The price of the whole order.'),
    show: ({ total, currency }) => amountOf(total, currency),
  },
  history: {
    name: 'status_history',
    output: Type.Array(Type.Object({ status: Status, at: Timestamp, note: TextOrNull() })),
    show: ({ history }) => history.map(({ at, ...entry }) => ({ ...entry, at: at.toISOString() })),
  },
  createdAt: { output: Timestamp },
  updatedAt: { output: Timestamp },
} satisfies Record<string, PropertyShape<Order>>;

const shaped = createEntityProfile<Order, typeof ORDER, keyof typeof ORDER_SHAPES>(
  ORDER,
  ORDER_SHAPES,
  inSnakeCase,
);
export const orderView = shaped.view('Order', [
  ...(['id', 'userId', 'status', 'lines', 'currency', 'total', 'history'] as const),
  ...(['createdAt', 'updatedAt'] as const),
]);
export const statusChangeBody = shaped.body<OrderChange>('OrderStatusChange', {
  required: ['status'],
  optional: ['note'],
});
const newOrder = shaped.body<NewOrder>('NewOrder', {
  required: ['items', 'currency'],
  optional: ['userId'],
  example: { items: [{ product_id: 'prd_06f2k1c8w0h3v5n7q9t1x3z5b7', quantity: 2 }], currency: 'USD' },
});

const rules: Omit<ListProfile<OrderTypes>['rules'], 'paging'> = {
  filters: shaped.filters(),
  plain: ['status', 'user_id'],
  sort: {
    fields: { created_at: 'createdAt', updated_at: 'updatedAt', total_amount: 'total' },
    by: 'sort',
    order: 'order',
  },
};

const operations = {
  create: { body: newOrder, response: orderView },
  read: orderView,
  update: { method: 'PUT', body: statusChangeBody, response: orderView },
} as const;

const latest: Profile<OrderTypes> = {
  name: 'latest',
  about: 'the list by page',
  errorBody: v2Body,
  list: { rules: { ...rules, paging: 'page' }, envelope: pageEnvelopeWithPages, item: orderView },
  ...operations,
};

const bare: Profile<OrderTypes> = {
  name: 'bare',
  about: 'the list as a bare array by offset',
  errorBody: plainBody,
  list: {
    rules: { ...rules, paging: 'offset', legacy: true },
    envelope: bareArray,
    item: { ...orderView, name: 'OrderV1' },
  },
  ...operations,
};

export const ORDER_PATHS: readonly ResourcePath<OrderTypes>[] = [
  { prefix: '/v2/orders', profiles: [latest] },
  { prefix: '/orders', profiles: [latest] },
  { prefix: '/api/v1/orders', profiles: [bare] },
];

/** Orders as a resource. The use cases check the access to each order. */
export function createOrderResource(orders: OrderService): Resource<OrderTypes> {
  return {
    noun: { one: 'an order', many: 'orders' },
    idPrefix: 'ord',
    paths: ORDER_PATHS,
    operations: {
      list: { scopes: READ, source: orders.listFor },
      create: { scopes: WRITE, run: orders.create, findByKey: orders.findByKey },
      read: { scopes: READ, run: orders.read },
      update: { scopes: WRITE, run: orders.changeStatus },
    },
    example: EXAMPLE,
  };
}

const PLACED = new Date('2026-03-01T09:30:00Z');
export const EXAMPLE: Order = {
  id: 'ord_06f2k1c8w0h3v5n7q9t1x3z5b7',
  userId: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7',
  lines: [{ productId: 'prd_06f2k1c8w0h3v5n7q9t1x3z5b7', quantity: 2, unitPrice: 1250 }],
  currency: 'USD',
  total: 2500,
  status: 'pending',
  history: [{ status: 'pending', at: PLACED, note: null }],
  version: 1,
  createdAt: PLACED,
  updatedAt: PLACED,
};
