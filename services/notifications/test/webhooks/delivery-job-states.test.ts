import type { Job, Outcome } from '@gatehouse/events/job';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import type { StoredEvent } from '../../src/events/event.ts';
import type { DeliveryAttempt, DeliveryResult } from '../../src/webhooks/delivery.ts';
import { createDeliveryJobStates } from '../../src/webhooks/delivery-job-states.ts';
import { createDeliveryStore } from '../../src/webhooks/delivery-store.ts';

const { store } = await startTestDatabase(t, { define: createDeliveryStore });
const own = createDeliveryJobStates(store);
const LEASE = { leaseMs: 60_000, exclusive: false };

async function addDelivery(event: string) {
  const of = { id: event, type: 'order.created', aggregate: 'ord_1', sequence: 1 } as StoredEvent;
  const [delivery] = await store.add([{ webhook: 'whk_1', event: of }]);
  if (delivery === undefined) throw new Error('it was there');
  const data = { delivery: delivery.id, run: 1 };
  const job = {
    id: `job_${event}`,
    data,
    at: new Date(),
    queue: 'webhooks',
    priority: 'normal',
    lane: 'all',
  };
  return { id: delivery.id, job: job as Job };
}

const attempt = (status: number, body: string | null = null): DeliveryAttempt => ({
  ...{ url: 'https://x.example/', startedAt: new Date(), durationMs: 1, status, body, error: null },
});

t.test('attempts that end in one write each have their own outcome', async (t) => {
  type Case = [name: string, outcome: Outcome, result: DeliveryResult, expected: object];
  const cases: Case[] = [
    [
      'succeeded',
      { result: 'succeeded' },
      { attempt: attempt(204, '$$ROOT'), status: 'succeeded' },
      {
        status: 'succeeded',
        check_at: null,
        begun: 1,
        version: 2,
        attempts: [{ status: 204, body: '$$ROOT' }],
      },
    ],
    [
      'failed',
      { result: 'failed', error: 'x', retryInMs: 5000 },
      { attempt: attempt(500), reason: '$status' },
      {
        status: 'pending',
        reason: '$status',
        check_at: Date,
        begun: 1,
        version: 2,
        attempts: [{ status: 500 }],
      },
    ],
    [
      'postponed',
      { result: 'postponed', error: 'x', retryInMs: 5000 },
      {},
      { status: 'pending', reason: null, check_at: Date, begun: 0, version: 2, attempts: [] },
    ],
    [
      'dead',
      { result: 'dead', error: 'x' },
      { attempt: attempt(500), reason: 'gone' },
      { status: 'failed', reason: 'gone', check_at: null, begun: 1, version: 2 },
    ],
    [
      'skipped',
      { result: 'rejected', error: 'x' },
      { status: 'skipped', reason: 'paused' },
      { status: 'skipped', reason: 'paused', check_at: null, attempts: [] },
    ],
    [
      'taken over by another process',
      { result: 'succeeded' },
      { attempt: attempt(204), status: 'succeeded' },
      { status: 'pending', holder: 'att_other', version: 1, attempts: [] },
    ],
    [
      'sent again meanwhile',
      { result: 'succeeded' },
      { attempt: attempt(204), status: 'succeeded' },
      { status: 'pending', run: 2, holder: null, version: 2, attempts: [] },
    ],
  ];
  const made = await Promise.all(cases.map(async ([name]) => addDelivery(name)));
  const [first, ...others] = made;
  if (first === undefined) throw new Error('there is none');
  // Of two batches, so that there are two holders.
  await own.jobStates.begin(first.job, LEASE);
  await Promise.all(others.map(({ job }) => own.jobStates.begin(job, LEASE)));
  for (const [i, [, , result]] of cases.entries()) own.note(made[i]?.job as Job, result);
  await store.collection.updateOne({ _id: made[5]?.id ?? '' }, { $set: { holder: 'att_other' } });
  await store.collection.updateOne(
    { _id: made[6]?.id ?? '' },
    { $set: { run: 2, holder: null }, $inc: { version: 1 } },
  );
  await Promise.all(cases.map(([, outcome], i) => own.jobStates.end(made[i]?.job as Job, 1, outcome)));
  for (const [i, [name, , , expected]] of cases.entries()) {
    t.match(await store.collection.findOne({ _id: made[i]?.id ?? '' }), expected, name);
  }
});

t.test('the last twenty attempts are kept', async (t) => {
  const { id, job } = await addDelivery('often');
  for (let i = 0; i < 22; i += 1) {
    await own.jobStates.begin(job, LEASE);
    own.note(job, { attempt: attempt(500 + i) });
    const outcome = { result: 'failed', error: 'x', retryInMs: 0 } as const;
    await own.jobStates.end(job, i, outcome);
  }
  const found = await store.collection.findOne({ _id: id });
  t.same(
    found?.attempts.map(({ status }) => status),
    Array.from({ length: 20 }, (_, i) => 502 + i),
  );
});
