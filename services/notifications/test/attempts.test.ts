import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '@gatehouse/events/job';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { change, type Notification } from '../src/notifications/notification.ts';
import { createNotificationJobStates } from '../src/notifications/notification-job-states.ts';
import { createNotificationAttempts } from '../src/notifications/store/notification-attempts.ts';
import { createNotificationStore } from '../src/notifications/store/notification-store.ts';

const { store, connection } = await startTestDatabase(t, {
  define: (connection) => createNotificationStore(connection, { publish() {}, logger }),
});
/** Two processes. */
const [one, other] = [createNotificationAttempts(connection), createNotificationAttempts(connection)];

const LEASE = { leaseMs: 10_000, exclusive: false };
const SHORT = { leaseMs: 20, exclusive: false };
let made = 0;

async function add(): Promise<Notification> {
  made += 1;
  const now = new Date();
  const notification: Notification = {
    ...{
      id: `ntf_${made}`,
      userId: 'usr_1',
      subject: undefined,
      message: 'Hello',
      type: 'sms',
      priority: 'low',
    },
    ...{ status: 'queued', reason: null, attempts: [], job: 1, version: 1, createdAt: now, updatedAt: now },
  };
  await store.add(notification, { sender: 'usr_editor', key: undefined });
  return notification;
}
const referenceOf = ({ id }: Notification, job = 1) => ({ notificationId: id, job });
/** Begins an attempt that nothing hinders. */
async function held(attempts: typeof one, reference: ReturnType<typeof referenceOf>, how = LEASE) {
  const begun = await attempts.begin(reference, how);
  if (begun.state !== 'begun') throw new Error(`it is ${begun.state}`);
  return begun.held;
}
const outcomes = async ({ id }: Notification) => {
  const found = await store.findById(id);
  return [found?.status, ...(found?.attempts.map(({ outcome }) => outcome) ?? [])];
};

t.test('one process at a time; what has ended is not begun again', async (t) => {
  const notification = await add();
  const reference = referenceOf(notification);
  const own = await held(one, reference);
  t.equal(own.attempt, 1);
  const notOwn = { ...own, holder: (await held(other, referenceOf(await add()))).holder };
  for (const exclusive of [false, true]) {
    t.match(await other.begin(reference, { ...LEASE, exclusive }), { state: 'busy', ms: Number });
  }
  t.ok(await one.renew(own, 10_000));
  t.notOk(await other.renew(notOwn, 10_000), 'nobody else’s');
  await other.end(notOwn, { outcome: 'failed', error: 'not mine', providerId: null });
  t.same(await outcomes(notification), ['sending', 'running']);
  await one.end(own, { outcome: 'accepted', error: null, providerId: 'SM1' });
  t.same(await outcomes(notification), ['sent', 'accepted']);
  t.match(await other.begin(reference, LEASE), { state: 'ended' });
});

t.test('many at once, some of them twice: each begins once, and each has its own outcome', async (t) => {
  const references = (await Promise.all(Array.from({ length: 250 }, add))).map((it) => referenceOf(it));
  const results = await Promise.all(
    references.flatMap((it) => [one, one, other].map((attempts) => attempts.begin(it, LEASE))),
  );
  const begun = results.filter((it) => it.state === 'begun');
  t.same(
    new Set(
      begun.map(({ held, notification }) =>
        held.notificationId === notification.id ? held.notificationId : '',
      ),
    ),
    new Set(references.map(({ notificationId }) => notificationId)),
  );
  t.equal(begun.length, references.length);
  t.equal(results.filter(({ state }) => state === 'busy').length, 2 * references.length);
  const endOf = (i: number) => (['accepted', 'rejected', 'unknown'] as const)[i % 3] ?? 'failed';
  await Promise.all(
    begun.map(({ held }, i) => one.end(held, { outcome: endOf(i), error: `${i}`, providerId: null })),
  );
  for (const [i, { held }] of begun.entries()) {
    t.match(await store.findById(held.notificationId), {
      status: endOf(i) === 'accepted' ? 'sent' : 'failed',
      attempts: [{ outcome: endOf(i), error: `${i}` }],
    });
  }
});

t.test('an attempt that never ended becomes unknown, and is followed by one that runs alone', async (t) => {
  const notification = await add();
  const reference = referenceOf(notification);
  const lost = await held(one, reference, SHORT);
  await sleep(30);
  t.match(await other.begin(reference, LEASE), { state: 'exclusive' });
  t.same(await outcomes(notification), ['sending', 'running'], 'nothing is counted');
  t.match(await other.begin(reference, { ...LEASE, exclusive: true }), {
    state: 'begun',
    held: { attempt: 2 },
  });
  t.same(await outcomes(notification), ['sending', 'unknown', 'running']);
  await one.end(lost, { outcome: 'accepted', error: null, providerId: null });
  t.same(
    await outcomes(notification),
    ['sending', 'unknown', 'running'],
    'who was taken for dead says nothing',
  );
});

t.test('an attempt that fails is followed by another after its pause', async (t) => {
  const notification = await add();
  const reference = referenceOf(notification);
  const failed = { outcome: 'failed', error: 'down', providerId: null } as const;
  await one.end(await held(one, reference), { ...failed, retryInMs: 0 });
  t.match(await store.findById(notification.id), { status: 'queued', reason: 'down' });
  const second = await held(other, reference);
  t.equal(second.attempt, 2);
  await other.releaseAttempt(second, 'unreachable', 0);
  t.same(await outcomes(notification), ['queued', 'failed'], 'one that does not count leaves no trace');
  const again = await held(one, reference);
  t.equal(again.attempt, 2);
  await one.end(again, { ...failed, retryInMs: 60_000 });
  t.match(await other.begin(reference, LEASE), { state: 'busy', ms: Number }, 'its pause is not over');
});

t.test('a cancellation and an attempt: one wins, whoever was first to decide', async (t) => {
  const cancelled = await add();
  await store.update(cancelled.id, (current) => change(current, { status: 'cancelled' }), undefined);
  t.match(await one.begin(referenceOf(cancelled), LEASE), { state: 'ended' });
  const begun = await add();
  let decisions = 0;
  const late = store
    .update(
      begun.id,
      (current) => {
        decisions += 1;
        return change(current, { status: 'cancelled' });
      },
      undefined,
    )
    .then(
      () => true,
      () => false,
    );
  await one.begin(referenceOf(begun), LEASE);
  const isCancelled = await late;
  t.same(
    await outcomes(begun),
    isCancelled ? ['cancelled'] : ['sending', 'running'],
    `${decisions} decisions`,
  );
});

t.test('a process that has its own job back tells the attempts apart', async (t) => {
  const notification = await add();
  const job = { id: 'job', data: { notification: notification.id, job: 1 } } as unknown as Job;
  const recorded: unknown[] = [];
  const jobStates = createNotificationJobStates({
    attempts: one,
    onOutcome: (_, outcome) => recorded.push(outcome),
  });
  t.same(await jobStates.begin(job, SHORT), { attempt: 1 });
  // It was held up for longer than its lease.
  await sleep(30);
  t.same(await jobStates.begin(job, { ...LEASE, exclusive: true }), { attempt: 2 });
  t.equal(await jobStates.renew(job, 1, 10_000), false);
  jobStates.currentAttempt(job, 2).mayBeAccepted = true;
  await jobStates.end(job, 2, { result: 'succeeded' });
  t.same(await outcomes(notification), ['sent', 'unknown', 'accepted']);
  t.same(recorded, ['accepted']);
});

t.test('an attempt that may have been accepted is recorded as unknown when it fails', async (t) => {
  const jobStates = createNotificationJobStates({ attempts: one, onOutcome() {} });
  for (const [mayBeAccepted, outcome] of [
    [true, 'unknown'],
    [false, 'failed'],
  ] as const) {
    const notification = await add();
    const job = { id: notification.id, data: { notification: notification.id, job: 1 } } as unknown as Job;
    await jobStates.begin(job, LEASE);
    jobStates.currentAttempt(job, 1).mayBeAccepted = mayBeAccepted;
    await jobStates.end(job, 1, { result: 'failed', error: 'silence', retryInMs: 0 });
    t.same(await outcomes(notification), ['queued', outcome]);
  }
});

t.test('a new priority makes a new job, and voids the one before', async (t) => {
  const notification = await add();
  await store.update(notification.id, (current) => change(current, { priority: 'high' }), undefined);
  t.match(await one.begin(referenceOf(notification), LEASE), { state: 'ended' });
  t.match(await one.begin(referenceOf(notification, 2), LEASE), { state: 'begun', held: { attempt: 1 } });
});

t.test('a replay counts from 1 again, and keeps what was', async (t) => {
  const notification = await add();
  const reference = referenceOf(notification);
  const own = await held(one, reference);
  await one.reset(reference);
  t.same(await outcomes(notification), ['sending', 'running'], 'only what has failed');
  await one.end(own, { outcome: 'failed', error: 'down', providerId: null });
  await one.reset(reference);
  t.match(await one.begin(reference, LEASE), { state: 'begun', held: { attempt: 1 } });
  t.same(await outcomes(notification), ['sending', 'failed', 'running']);
});
