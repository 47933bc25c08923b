import { minuteOf } from '@gatehouse/server/usage/usage-batch';
import t from 'tap';
import { INTERVALS } from '../../src/analytics/bucket.ts';
import { batchOf, build, requestsOf } from './build.ts';

t.test('the same time has the same total by every interval', async (t) => {
  const { ask, send, order, settled } = await build(t);
  const now = minuteOf(Date.now());
  const from = new Date(Math.floor((now - 1500) / 1440) * 86_400_000).toISOString();
  // Before and in this hour, and perhaps yesterday.
  const requests = [1, 61, 200].map((ago) => requestsOf({ minute: now - ago, statuses: [3, 0, 1, 2] }));
  await send(batchOf({ requests }));
  const created_at = new Date((now - 5) * 60_000).toISOString();
  await order({
    id: 'ord_1',
    version: 1,
    status: 'pending',
    currency: 'EUR',
    total_amount: 2.5,
    created_at,
  });
  await settled();
  for (const [metric, total] of Object.entries({
    requests: 18,
    errors: 6,
    client_errors: 3,
    orders: 1,
    revenue: 2.5,
  })) {
    for (const interval of INTERVALS.slice(1)) {
      const response = await ask(`metric=${metric}&interval=${interval}&from=${from}`);
      t.equal(response.total, total, `${metric} by the ${interval}`);
      t.equal(
        response.data.reduce((sum, { value }) => sum + (value ?? 0), 0),
        total,
      );
    }
  }
});
