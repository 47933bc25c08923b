import { derivedId } from '@gatehouse/core/ids';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import type { NewEvent } from './event.ts';
import { ADMIN, type Data, EVENT_TYPES, type EventType, type EventTypeName } from './event-types.ts';

type Made = readonly [EventTypeName, Data];
const orderOf = (data: Data) => ({ ...data, order_id: data.id });

/** An order moves the stock of each of its products. */
const moved = (data: Data, sign: 1 | -1): Made[] =>
  ((data.items ?? []) as { product_id: string; quantity: number }[]).map(({ product_id, quantity }) => [
    'stock.changed',
    { product_id, order_id: data.id, change: sign * quantity },
  ]);

/** The events that follow from what services publish, by its subject. */
const SOURCES: Readonly<Record<string, (data: Data) => readonly Made[]>> = {
  'users.user.created': (data) => [['user.created', data]],
  'users.user.changed': (data) => [['user.updated', data]],
  'users.user.deleted': (data) => [['user.deleted', data]],
  'commerce.order.created': (data) => [['order.created', orderOf(data)], ...moved(data, -1)],
  'commerce.order.changed': (data) => [
    ['order.updated', orderOf(data)],
    ...(data.status === 'cancelled' ? moved(data, 1) : []),
  ],
  'commerce.product.changed': (data) => [
    [data.version === 1 ? 'product.created' : 'product.updated', { ...data, product_id: data.id }],
  ],
  // Identity says which type it is.
  'identity.audit.recorded': ({ type, ...data }) =>
    Object.hasOwn(EVENT_TYPES, String(type)) ? [[type as EventTypeName, data]] : [],
  'notifications.notification.sent': (data) => [['notification.sent', data]],
  'notifications.notification.failed': (data) => [['notification.failed', data]],
  'notifications.report.completed': (data) => [['report.completed', data]],
  'notifications.report.failed': (data) => [['report.failed', data]],
  'commerce.product.deleted': ({ id, version }) => [['product.deleted', { product_id: id, version }]],
};

/** The events that follow from what a service has published, without their ids; none for other subjects. */
export function eventsFrom({ id: source, subject, at, data }: OutboxEvent): NewEvent[] {
  return (SOURCES[subject]?.(data) ?? []).map(([name, all], i) => {
    const { schema, aggregate, readers } = EVENT_TYPES[name] as EventType;
    const shown = Object.keys(schema.properties).map((field) => [field, all[field]]);
    return {
      type: name,
      data: Object.fromEntries(shown.filter(([, value]) => value !== undefined)),
      occurredAt: at,
      aggregate: aggregate(all),
      sequence: typeof all.version === 'number' ? all.version : at.getTime(),
      readers: [ADMIN, ...readers(all)],
      source: i === 0 ? source : derivedId('evt', `${source} ${i}`),
      version: 1,
    };
  });
}
