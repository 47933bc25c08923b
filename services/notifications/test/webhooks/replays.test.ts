import { newId } from '@gatehouse/core/ids';
import type { JobState } from '@gatehouse/data/job-document';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { createEventStore } from '../../src/events/event-store.ts';
import { ANN, build } from './build.ts';

const EVENTS = 500;
const BATCH = 200;
const FROM = { from: '2026-01-01T00:00:00Z' };
type Replay = { events: number; done: number; ended_at: string | null; reason: string | null };

const { hooks, create, at, behave, publish, order, mongodbUri } = await build(t, { timeoutMs: 60_000 });
const { connection, store } = await startTestDatabase(t, { uri: mongodbUri, define: createEventStore });
const deliveries = connection.collection('webhook_deliveries');
const stored = connection.collection<{ _id: string; job?: JobState | null }>('webhooks');
const replayOf = async (id: string) => (await hooks<{ replay: Replay | null }>('GET', `/${id}`)).body.replay;

// One that the service makes, to know its readers.
await publish('commerce.order.created', order('ord_0', ANN));
const [like] = await connection.collection('events').find({ type: 'order.created' }).toArray();
await Promise.all(
  Array.from({ length: EVENTS - 1 }, (_, i) =>
    store.add({
      ...{ type: 'order.created', data: { order_id: `ord_${i + 1}` }, occurredAt: new Date() },
      ...{ aggregate: newId('ord'), sequence: 1, source: newId('evt'), version: 1 },
      readers: like?.readers as string[],
    }),
  ),
);
const begun = performance.now();
// A replay has the events that are listed, which end a second ago.
await until(() => performance.now() - begun > 1100, 5000);

t.test('a replay delivers each event once, some at a time', async (t) => {
  const { id } = await create('/replayed', { events: ['order.created'] });
  t.equal(await replayOf(id), null);
  t.match(await hooks('POST', `/${id}/replay`, FROM), {
    status: 202,
    body: { replayed: EVENTS, next: null },
  });
  t.same((await hooks('POST', `/${id}/replay`, FROM)).status, 409, 'one at a time');
  await until(async () => (await replayOf(id))?.ended_at !== null, 30_000);
  t.match(await replayOf(id), { events: EVENTS, done: EVENTS, reason: null });
  await until(() => at('/replayed').length >= EVENTS, 30_000);
  t.equal(new Set(at('/replayed').map(({ headers }) => headers['webhook-id'])).size, EVENTS);
  t.equal(at('/replayed').length, EVENTS);
  const low = await deliveries.countDocuments({ webhook: id, status: 'succeeded', replay: /^rpl_/ });
  t.equal(low, EVENTS);
  await hooks('POST', `/${id}/replay`, FROM);
  await until(() => at('/replayed').length >= 2 * EVENTS, 30_000);
});

for (const [end, change, reason] of [
  ['deleted', (id: string) => hooks('DELETE', `/${id}`), undefined],
  ['paused', (id: string) => hooks('PATCH', `/${id}`, { status: 'paused' }), 'The webhook was paused.'],
] as const) {
  t.test(`a replay waits while deliveries are pending, and ends when its webhook is ${end}`, async (t) => {
    const { id } = await create(`/${end}`, { events: ['order.created'] });
    behave(`/${end}`, () => {});
    t.match(await hooks('POST', `/${id}/replay`, FROM), { status: 202, body: { replayed: EVENTS } });
    await until(async () => (await replayOf(id))?.done === BATCH, 10_000);
    // It looks again after half a second.
    const dueAt = async () => (await stored.findOne({ _id: id }))?.job?.due?.getTime() ?? 0;
    const first = await dueAt();
    await until(async () => (await dueAt()) > first, 10_000);
    t.equal(await deliveries.countDocuments({ webhook: id }), BATCH);
    await change(id);
    if (reason !== undefined) {
      await until(async () => (await replayOf(id))?.ended_at !== null, 10_000);
      t.match(await replayOf(id), { done: BATCH, reason });
    } else {
      t.notOk((await stored.findOne({ _id: id }))?.job);
      t.equal(await deliveries.countDocuments({ webhook: id }), 0);
    }
  });
}
