import { isCancellableByCustomer, ORDER_STATUSES, type OrderStatus } from '@gatehouse/domain/order-status';
import t from 'tap';
import { changeStatus } from '../src/order.ts';
import { orderOf } from './stock-books.ts';

/** The statuses that may follow each, and none other; those of a customer's order may become `cancelled` by the customer. */
const FOLLOWING: Record<OrderStatus, [following: OrderStatus[], isCancellable: boolean]> = {
  pending: [['confirmed', 'cancelled'], true],
  confirmed: [['processing', 'cancelled'], true],
  processing: [['shipped', 'cancelled'], false],
  shipped: [['delivered'], false],
  delivered: [['refunded'], false],
  cancelled: [[], false],
  refunded: [[], false],
};

t.test('which status may follow which', async (t) => {
  const at = new Date();
  for (const [from, [following, isCancellable]] of Object.entries(FOLLOWING)) {
    const order = { ...orderOf(['prd_1']), status: from as OrderStatus };
    t.equal(isCancellableByCustomer(order), isCancellable, from);
    for (const status of ORDER_STATUSES) {
      const change = () => changeStatus(order, { status, note: 'Why.' }, at);
      if (following.includes(status)) {
        t.match(change(), { status, history: [{}, { status, at, note: 'Why.' }] }, `${from}, ${status}`);
      } else {
        t.throws(change, { message: / cannot become / }, `${from}, ${status}`);
      }
    }
  }
});
