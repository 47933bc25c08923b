/** The decimals that amounts are added with: at least those of every currency (ISO 4217 has 4 at most). */
const DECIMALS = 4;
const UNIT = 10 ** DECIMALS;

type Sum = { day: string; currency: string; orders: number; items: number; revenue: bigint };

/** Orders added up by day and currency, exactly: an amount is a whole number of the smallest unit. */
export function addedUp() {
  const sums = new Map<string, Sum>();
  return {
    /** Cancelled and refunded orders do not count. */
    add(order: Record<string, unknown>): void {
      if (order.status === 'cancelled' || order.status === 'refunded') return;
      const [day, currency] = [String(order.created_at).slice(0, 10), String(order.currency)];
      const key = `${day} ${currency}`;
      const sum = sums.get(key) ?? { day, currency, orders: 0, items: 0, revenue: 0n };
      sum.orders += 1;
      sum.items += piecesOf(order);
      sum.revenue += BigInt(Math.round(Number(order.total_amount) * UNIT));
      sums.set(key, sum);
    },
    /** In the order of day and currency. The revenue is text, as a sum may have more digits than a number. */
    rows: () =>
      [...sums]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, { revenue, ...sum }]) => ({ ...sum, revenue: decimal(revenue) })),
  };
}

/** The pieces of an order. */
export function piecesOf({ items }: Record<string, unknown>): number {
  const lines = Array.isArray(items) ? (items as { quantity?: unknown }[]) : [];
  return lines.reduce((sum, { quantity }) => sum + Number(quantity), 0);
}

/** With two decimals, or with as many as there are. */
function decimal(amount: bigint): string {
  const digits = String(amount).padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0{1,2}$/, '');
  return `${digits.slice(0, -DECIMALS)}.${fraction}`;
}
