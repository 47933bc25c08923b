import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import type { StoredEvent } from '../../src/events/event.ts';
import { createDeliveryStore } from '../../src/webhooks/delivery-store.ts';
import { build, type Delivery } from './build.ts';

t.test('of many deliveries, the few of a status and those that ended are found by an index', async (t) => {
  const uri = monitored(await testDatabase(t));
  const { store, connection } = await startTestDatabase(t, { uri, define: createDeliveryStore });
  const of = (id: string) => ({
    ...{ webhook: 'whk_1', owner: 'usr_1' },
    event: { id, type: 'order.created', aggregate: id, sequence: 1 } as StoredEvent,
  });
  await store.add(Array.from({ length: 500 }, (_, i) => of(`evt_${i}`)));
  await store.collection.updateMany({}, { $set: { status: 'succeeded', job: null } });
  await store.add(Array.from({ length: 12 }, (_, i) => of(`evt_failed_${i}`)));
  await store.collection.updateMany({ status: 'pending' }, { $set: { status: 'failed', job: null } });
  await store.add(Array.from({ length: 20 }, (_, i) => of(`evt_pending_${i}`)));
  const list = store.within('whk_1');
  const sort = { field: 'createdAt', descending: true } as const;
  const ofStatus = (status: string) => ({
    conditions: [{ field: 'status', operator: 'eq', values: [status] } as const],
    sort,
  });
  const since = new Date(Date.now() - 86_400_000);
  for (const [name, run, keys] of [
    ['a page of one status', () => list.byKeyset(ofStatus('failed'), { limit: 5 }), 10],
    ['the count of one status', () => list.count(ofStatus('failed').conditions), 15],
    ['a page of all', () => list.byKeyset({ conditions: [], sort }, { limit: 5 }), 10],
    ['those that failed since', () => store.countSince('whk_1', 'failed', since), 15],
    ['whether one succeeded since', () => store.countSince('whk_1', 'succeeded', since, 1), 2],
    ['whether an owner has more pending', () => store.hasMorePending('usr_1', 10), 15],
    ['the pending ones of a webhook', () => store.pendingOf('whk_1', 10), 11],
    ['the webhook with the most', () => store.webhookWithMost('usr_1'), 25],
  ] as const) {
    const plans = await explainQueries(connection, run);
    t.equal(plans.length, 1, name);
    for (const plan of plans)
      t.ok(plan.indexes.length === 1 && plan.keys <= keys, JSON.stringify({ name, plan }));
  }
  t.equal((await list.byKeyset(ofStatus('failed'), { limit: 5 })).items.length, 5);
  t.equal(await store.countSince('whk_1', 'failed', since), 12);
});

t.test('a list of one status, the last response, the success rate, and sending now', async (t) => {
  const { hooks, create, delivered, behave, at } = await build(t, { scale: 1 });
  const hook = await create('/fails');
  const rate = async () => (await hooks<{ last_24_hours: object }>('GET', `/${hook.id}`)).body.last_24_hours;
  t.same(await rate(), { ended: 0, success_rate: null });
  behave('/fails', (_request, response, count) => response.writeHead(count === 2 ? 410 : 500).end());
  await hooks('POST', `/${hook.id}/test`);
  const list = async (query: string) =>
    (await hooks('GET', `/${hook.id}/deliveries?${query}`)).body.data as Delivery[];
  await until(async () => (await list('status=pending'))[0]?.response_status === 500, 10_000);
  t.same(await list('status=failed'), []);
  t.equal((await hooks('GET', `/${hook.id}/deliveries?status=lost`)).status, 400);
  const [waiting] = await list('status=pending');
  const begun = performance.now();
  t.equal((await hooks('POST', `/${hook.id}/deliveries/${waiting?.id}/resend`)).status, 202);
  await until(() => at('/fails').length === 2, 4000);
  t.ok(performance.now() - begun < 4000, 'before the five seconds are over');
  t.match(await delivered(hook.id, 1, 'failed'), [{ response_status: 410 }]);
  t.same(await rate(), { ended: 1, success_rate: 0 });
  behave('/fails', (_request, response) => response.writeHead(204).end());
  await hooks('PATCH', `/${hook.id}`, { status: 'active' });
  for (let i = 0; i < 3; i += 1) await hooks('POST', `/${hook.id}/test`);
  await delivered(hook.id, 3);
  t.same(await rate(), { ended: 4, success_rate: 0.75 });
});
