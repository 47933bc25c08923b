import { applyMigrations } from '@gatehouse/testing/apply-migrations';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { createAnalyticsStore } from '../src/analytics/store/analytics-store.ts';
import { NOTIFICATIONS_MIGRATIONS } from '../src/notifications-migrations.ts';

const KEEP_DAYS = { minute: 7, hour: 90, day: 730 };
const START = new Date('2026-11-24T00:00:00Z');
const LATER = new Date('2027-11-24T00:00:00Z');

const { connection, store } = await startTestDatabase(t, {
  define: (it) => createAnalyticsStore(it, { keepDays: KEEP_DAYS }),
});
const collection = (name: string) => connection.collection<{ _id: string }>(name);

/** Of a day, as the answer to a question. */
async function bucketOf(source: string, client: string) {
  const found = [];
  const query = { interval: 'day', sources: [source], clients: [client], from: START, to: LATER } as const;
  for await (const bucket of store.buckets({ ...query, latency: true })) found.push(bucket);
  return found;
}

t.test('counts of the release before are kept, once', async (t) => {
  const labels = { route: 'GET /v1/users/:id' };
  await collection('analytics_buckets').insertMany([
    {
      ...{
        _id: 'day users app_a',
        interval: 'day',
        source: 'users',
        client: 'app_a',
        start: START,
        revision: 3,
      },
      entries: [{ labels, counts: [7, 0, 2], latency: [20, 6, 41, 3] }],
      expires_at: LATER,
    },
    {
      ...{ _id: 'day order *', interval: 'day', source: 'order', client: '*', start: START, revision: 1 },
      entries: [{ labels: { status: 'pending', currency: 'EUR' }, counts: [9], amount: '90000' }],
      expires_at: LATER,
    },
  ] as never[]);
  const order = { topic: 'order', version: 2, at: START, amount: '60000', pending: [], expires_at: LATER };
  await collection('analytics_facts').insertOne({
    ...order,
    _id: 'order ord_1',
    labels: { status: 'confirmed', currency: 'EUR' },
  } as never);

  await applyMigrations(connection, NOTIFICATIONS_MIGRATIONS);
  await applyMigrations(connection, NOTIFICATIONS_MIGRATIONS);
  await store.countOrders();

  const usage = { labels, counts: { 0: 7, 1: 0, 2: 2 }, latency: { 20: 6, 41: 3 } };
  t.same(await bucketOf('users', 'app_a'), [
    { source: 'users', client: 'app_a', start: START, entries: [usage] },
  ]);
  const orders = { labels: { status: 'confirmed', currency: 'EUR' }, counts: { 0: 1 }, amount: '60000' };
  t.same(await bucketOf('order', '*'), [{ source: 'order', client: '*', start: START, entries: [orders] }]);

  await store.addUsage({
    ...{ id: 'bat_1', sender: 'prc_1', service: 'users', until: null, isFinal: false },
    series: [{ start: START, client: 'app_a', labels, counts: { 0: 1 }, latency: { 20: 1 } }],
  });
  const [added] = await bucketOf('users', 'app_a');
  t.same(added?.entries, [{ ...usage, counts: { 0: 8, 1: 0, 2: 2 }, latency: { 20: 7, 41: 3 } }]);
});
