import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, Outcome } from '@gatehouse/events/job';
import { createJobCollection } from '@gatehouse/events/job-collection';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { change, type Notification } from '../src/notifications/notification.ts';
import { notificationJobs, type SendingResult } from '../src/notifications/notification-jobs.ts';
import type { NotificationDocument } from '../src/notifications/store/notification-document.ts';
import { createNotificationStore } from '../src/notifications/store/notification-store.ts';

const { store, connection } = await startTestDatabase(t, {
  define: (connection) => createNotificationStore(connection, { announce() {}, logger }),
});
/** Two processes. */
const [one, other] = [0, 1].map(() => createJobCollection('messages', notificationJobs({ connection }))) as [
  Jobs,
  Jobs,
];
type Jobs = ReturnType<typeof createJobCollection<NotificationDocument, SendingResult>>;
const ACCEPTED: SendingResult = { mayBeAccepted: true, providerId: 'SM1' };
const NOTHING: SendingResult = { mayBeAccepted: false, providerId: null };
const failed = (retryInMs = 0): Outcome => ({ result: 'failed', error: 'down', retryInMs });
let made = 0;

async function add(priority: Notification['priority'] = 'low'): Promise<string> {
  made += 1;
  const [id, now] = [`ntf_${made}`, new Date()];
  const text = {
    userId: 'usr_1',
    subject: undefined,
    message: 'Hello',
    type: 'sms',
    priority,
  } as const;
  const state = { status: 'queued', reason: null, attempts: [], version: 1 } as const;
  await store.add(
    { id, ...text, ...state, createdAt: now, updatedAt: now },
    { sender: `usr_${made}`, key: undefined },
  );
  return id;
}
/** The jobs of the sender of a notification that are claimed. */
async function claim(
  id: string,
  { by = one, leaseMs = 10_000, priority = 'low' as Notification['priority'] } = {},
) {
  const wanted = { priority, owner: id.replace('ntf', 'usr'), max: 10 };
  return by.claim('sms', [wanted], { leaseMs, except: new Map() });
}
async function claimed(
  id: string,
  how: Parameters<typeof claim>[1] = {},
): Promise<Job<NotificationDocument>> {
  const [job] = await claim(id, how);
  if (job === undefined) throw new Error('nothing is due');
  return job;
}
async function outcomes(id: string) {
  const found = await store.findById(id);
  return [found?.status, ...(found?.attempts.map(({ outcome }) => outcome) ?? [])];
}

t.test('each outcome is recorded in the attempt and the notification', async (t) => {
  const cases: [name: string, Outcome, SendingResult, expected: unknown[], reason: string | null][] = [
    ['sent', { result: 'succeeded' }, ACCEPTED, ['sent', 'accepted'], null],
    ['failed', failed(), NOTHING, ['queued', 'failed'], 'down'],
    ['failed after the provider had it', failed(), ACCEPTED, ['queued', 'unknown'], 'down'],
    ['rejected', { result: 'rejected', error: 'no' }, NOTHING, ['failed', 'rejected'], 'no'],
    ['dead', { result: 'dead', error: 'down', attempts: 8 }, NOTHING, ['failed', 'failed'], 'down'],
    ['postponed', { result: 'postponed', error: 'busy', retryInMs: 0 }, NOTHING, ['queued'], 'busy'],
    [
      ...([
        'postponed after the provider had it',
        { result: 'postponed', error: 'busy', retryInMs: 0 },
      ] as const),
      ...([ACCEPTED, ['queued', 'unknown'], 'busy'] as const),
    ] as never,
  ];
  for (const [name, outcome, result, expected, reason] of cases) {
    const id = await add();
    const job = await claimed(id);
    t.same(await outcomes(id), ['sending', 'running'], name);
    await other.settle({ ...job, holder: 'att_other' }, outcome, result);
    t.same(await outcomes(id), ['sending', 'running'], 'somebody else changes nothing');
    await one.settle(job, outcome, result);
    t.same(await outcomes(id), expected, name);
    t.match(await store.findById(id), { reason, version: 3 }, name);
    const isCounted = expected.length > 1;
    const [again] = await claim(id);
    if (expected[0] === 'queued') t.equal(again?.attempt, isCounted ? 2 : 1, name);
    else t.equal(again, undefined, name);
  }
});

t.test('many at once: each begins once', async (t) => {
  const ids = await Promise.all(Array.from({ length: 100 }, () => add('high')));
  const claims = ids.flatMap((id) => [one, other].map((by) => claim(id, { by, priority: 'high' })));
  const jobs = (await Promise.all(claims)).flat();
  t.same(jobs.map(({ id }) => id).toSorted(), ids.toSorted());
});

t.test('an attempt that never ended is unknown, and the next one is made by a process alone', async (t) => {
  const id = await add();
  const lost = await claimed(id, { leaseMs: 20 });
  await sleep(30);
  t.same(await claim(id), [], 'not with others');
  t.equal(await other.hasInterrupted('sms'), true);
  const again = await other.claimInterrupted('sms', new Map(), 10_000);
  t.match(again, { id, attempt: 2 });
  t.same(await outcomes(id), ['sending', 'unknown', 'running']);
  await one.settle(lost, { result: 'succeeded' }, ACCEPTED);
  t.same(await outcomes(id), ['sending', 'unknown', 'running'], 'who was taken for dead says nothing');
  await other.settle(again as NonNullable<typeof again>, { result: 'succeeded' }, ACCEPTED);
  t.same(await outcomes(id), ['sent', 'unknown', 'accepted']);
  t.equal(await other.hasInterrupted('sms'), false);
});

t.test('a cancellation and an attempt: one wins, whoever was first to decide', async (t) => {
  const cancel = (id: string) =>
    store
      .update(id, (current) => change(current, { status: 'cancelled' }), undefined)
      .then(
        () => true,
        () => false,
      );
  const cancelled = await add();
  t.equal(await cancel(cancelled), true);
  t.same(await claim(cancelled), []);
  const begun = await add();
  const [isCancelled] = await Promise.all([cancel(begun), claim(begun)]);
  t.same(await outcomes(begun), isCancelled ? ['cancelled'] : ['sending', 'running']);
});

t.test('a new priority moves the job', async (t) => {
  const id = await add();
  await store.update(id, (current) => change(current, { priority: 'high' }), undefined);
  t.same(await claim(id), []);
  t.match(await claimed(id, { priority: 'high' }), { id, attempt: 1 });
});

t.test('a replay counts from 1 again, and keeps what was', async (t) => {
  const id = await add();
  t.equal(await one.replay(id), false, 'only what has failed');
  await one.settle(await claimed(id), { result: 'dead', error: 'down', attempts: 1 }, NOTHING);
  t.equal(await one.replay(id), true);
  t.match(await store.findById(id), { status: 'queued', reason: null });
  t.match(await claimed(id), { id, attempt: 1 });
  t.same(await outcomes(id), ['sending', 'failed', 'running']);
});
