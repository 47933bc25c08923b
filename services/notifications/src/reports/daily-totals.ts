import { decimalsOf } from '@gatehouse/domain/money';
import { bringsRevenue } from '@gatehouse/domain/order-status';
import { dayIn } from '@gatehouse/domain/time-zone';

type Sum = { day: string; currency: string; orders: number; items: number; revenue: bigint };

const decimals = (currency: string) => decimalsOf(currency) ?? 0;

/** Orders added up by day in a time zone and by currency, exactly: in minor units. */
export function dailyTotals(timeZone = 'UTC') {
  const dayOf = dayIn(timeZone);
  const sums = new Map<string, Sum>();
  return {
    /** Cancelled and refunded orders do not count. */
    add(order: Record<string, unknown>): void {
      if (!bringsRevenue(order.status)) return;
      const [day, currency] = [dayOf(new Date(String(order.created_at))), String(order.currency)];
      const key = `${day} ${currency}`;
      const sum = sums.get(key) ?? { day, currency, orders: 0, items: 0, revenue: 0n };
      sum.orders += 1;
      sum.items += piecesOf(order);
      sum.revenue += BigInt(Math.round(Number(order.total_amount) * 10 ** decimals(currency)));
      sums.set(key, sum);
    },
    /** Sorted by day and currency. A number holds 15 digits; a larger revenue is rounded. */
    rows: () =>
      [...sums]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, { revenue, ...sum }]) => ({
          ...sum,
          revenue: Number(`${revenue}e-${decimals(sum.currency)}`),
        })),
  };
}

/** The pieces of an order. */
export function piecesOf({ items }: Record<string, unknown>): number {
  const lines = Array.isArray(items) ? (items as { quantity?: unknown }[]) : [];
  return lines.reduce((sum, { quantity }) => sum + Number(quantity), 0);
}
