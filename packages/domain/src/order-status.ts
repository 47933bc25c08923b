export const ORDER_STATUSES = [
  'pending',
  'confirmed',
  'processing',
  'shipped',
  'delivered',
  'cancelled',
  'refunded',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** The statuses that may follow each. */
export const ORDER_TRANSITIONS: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  pending: ['confirmed', 'cancelled'],
  confirmed: ['processing', 'cancelled'],
  processing: ['shipped', 'cancelled'],
  shipped: ['delivered'],
  delivered: ['refunded'],
  cancelled: [],
  refunded: [],
};

/** Whether the customer may cancel an order; later, only staff may. */
export function isCancellableByCustomer({ status }: { status: OrderStatus }): boolean {
  return status === 'pending' || status === 'confirmed';
}

/** Whether an order with this status brings revenue. */
export function bringsRevenue(status: unknown): boolean {
  return status !== 'cancelled' && status !== 'refunded';
}
