import type { Job, Outcome } from '@gatehouse/events/job';
import { createJobCollection } from '@gatehouse/events/job-collection';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import type { StoredEvent } from '../../src/events/event.ts';
import { type DeliveryAttempt, type DeliveryResult, deliveryIdOf } from '../../src/webhooks/delivery.ts';
import { deliveryJobs } from '../../src/webhooks/delivery-jobs.ts';
import { createDeliveryStore, type DeliveryDocument, LANE } from '../../src/webhooks/delivery-store.ts';

const { store, connection } = await startTestDatabase(t, { define: createDeliveryStore });
const jobs = createJobCollection<DeliveryDocument, DeliveryResult>('webhooks', deliveryJobs({ connection }));

const eventOf = (id: string) =>
  ({ id, type: 'order.created', aggregate: 'ord_1', sequence: 1 }) as StoredEvent;
const deliveryOf = (event: string) => ({ webhook: 'whk_1', owner: 'usr_1', event: eventOf(event) });
const idOf = (event: string) => deliveryIdOf(deliveryOf(event));
const documentOf = (event: string) => store.collection.findOne({ _id: idOf(event) });
const claim = (max: number) =>
  jobs.claim(LANE, [{ priority: 'normal', owner: 'usr_1', max }], { leaseMs: 60_000, except: new Map() });
const attempt = (status: number, body: string | null = null): DeliveryAttempt => ({
  ...{ url: 'https://x.example/', startedAt: new Date(), durationMs: 1, status, body, error: null },
});

t.test('attempts that end in one write each have their own outcome', async (t) => {
  type Case = [name: string, outcome: Outcome, result: DeliveryResult, expected: object];
  const cases: Case[] = [
    [
      ...(['succeeded', { result: 'succeeded' }] as const),
      { attempt: attempt(204, '$$ROOT'), status: 'succeeded' },
      { status: 'succeeded', job: null, version: 2, attempts: [{ status: 204, body: '$$ROOT' }] },
    ],
    [
      ...(['failed', { result: 'failed', error: 'x', retryInMs: 5000 }] as const),
      { attempt: attempt(500), reason: '$status' },
      {
        ...{ status: 'pending', reason: '$status', next_attempt_at: Date, version: 2 },
        ...{ job: { due: Date, attempts: 1, holder: null }, attempts: [{ status: 500 }] },
      },
    ],
    [
      ...(['postponed', { result: 'postponed', error: 'x', retryInMs: 5000 }] as const),
      {},
      { status: 'pending', reason: null, job: { attempts: 0 }, version: 2, attempts: [] },
    ],
    [
      ...(['given up', { result: 'rejected', error: 'x' }] as const),
      { attempt: attempt(500), reason: 'gone' },
      { status: 'failed', reason: 'gone', job: null, version: 2 },
    ],
    [
      ...(['skipped', { result: 'succeeded' }] as const),
      { status: 'skipped', reason: 'paused' },
      { status: 'skipped', reason: 'paused', job: null, attempts: [] },
    ],
    [
      ...(['taken over by another process', { result: 'succeeded' }] as const),
      { attempt: attempt(204), status: 'succeeded' },
      { status: 'pending', job: { holder: 'att_other' }, version: 1, attempts: [] },
    ],
  ];
  for (const [name] of cases) await store.add([deliveryOf(name)]);
  // Of two claims, so that there are two holders.
  const claimed = [...(await claim(1)), ...(await claim(10))];
  t.equal(claimed.length, cases.length);
  await store.collection.updateOne(
    { _id: idOf('taken over by another process') },
    { $set: { 'job.holder': 'att_other' } },
  );
  const jobOf = (name: string) => claimed.find(({ id }) => id === idOf(name)) as Job<DeliveryDocument>;
  await Promise.all(cases.map(([name, outcome, result]) => jobs.settle(jobOf(name), outcome, result)));
  for (const [name, , , expected] of cases) t.match(await documentOf(name), expected, name);
});

t.test('the last twenty attempts are kept', async (t) => {
  await store.collection.deleteMany({});
  await store.add([deliveryOf('often')]);
  for (let i = 0; i < 22; i += 1) {
    const [job] = await claim(1);
    const outcome = { result: 'failed', error: 'x', retryInMs: 0 } as const;
    await jobs.settle(job as Job<DeliveryDocument>, outcome, { attempt: attempt(500 + i) });
  }
  const statuses = (await documentOf('often'))?.attempts.map(({ status }) => status);
  t.same(
    statuses,
    Array.from({ length: 20 }, (_, i) => 502 + i),
  );
});

t.test('sending again, and replaying', async (t) => {
  await store.collection.deleteMany({});
  const settle = async (outcome: Outcome) => {
    const [job] = await claim(1);
    await jobs.settle(job as Job<DeliveryDocument>, outcome, { status: 'succeeded' });
  };
  await store.add([deliveryOf('done')]);
  await settle({ result: 'succeeded' });
  await store.add([deliveryOf('waits')]);
  await settle({ result: 'failed', error: 'x', retryInMs: 60_000 });
  const replay = () => store.replay(['done', 'waits', 'new'].map(deliveryOf), 'rpl_1');
  t.equal((await replay()).length, 3);
  t.same(await store.replay([], 'rpl_1'), []);
  const begunAgain = { status: 'pending', replay: 'rpl_1', job: { priority: 'low', attempts: 0 } };
  t.match(await documentOf('done'), begunAgain);
  t.match(await documentOf('new'), begunAgain);
  t.match(await documentOf('waits'), { replay: 'rpl_1', job: { attempts: 1, priority: 'normal' } });
  t.same(await claim(10), [], 'it still waits');
  t.equal(await store.pendingOf('whk_1', 2), 2);
  t.equal(await store.pendingOf('whk_1', 10), 3);
  const ended = { $set: { status: 'succeeded' as const, job: null } };
  await store.collection.updateMany({ _id: { $in: ['done', 'new'].map(idOf) } }, ended);
  await store.sendNow(deliveryOf('waits'));
  t.match(await claim(10), [{ id: idOf('waits'), attempt: 2 }], 'it is sent now');
  await store.collection.updateOne({ _id: idOf('waits') }, ended);
  await replay();
  t.equal(await store.pendingOf('whk_1', 10), 0, 'a batch that is made again adds nothing');
  await store.sendNow(deliveryOf('done'));
  t.match(await claim(10), [{ id: idOf('done'), attempt: 1 }]);
});
