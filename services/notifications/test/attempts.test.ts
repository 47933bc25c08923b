import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gatehouse/kit/logger';
import { createDatabase } from '@gatehouse/mongo/database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { change, type Notification } from '../src/notifications/notification.ts';
import { createNotificationAttempts } from '../src/notifications/store/notification-attempts.ts';
import { createNotificationStore } from '../src/notifications/store/notification-store.ts';

const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
const { connection, ...database } = createDatabase({ uri: await testDatabase(t), name: 'attempts', logger });
const store = createNotificationStore(connection, {
  jobEvent: ({ id, job }) => ({ id: `${id}-${job}`, subject: 'jobs', data: { notification: id, job } }),
  logger,
});
await database.start();
t.teardown(() => database.stop());
/** Two processes. */
const [one, other] = [createNotificationAttempts(connection), createNotificationAttempts(connection)];

const LEASE = { leaseMs: 10_000, alone: false };
const SHORT = { leaseMs: 20, alone: false };
let made = 0;

async function add(): Promise<Notification> {
  made += 1;
  const now = new Date();
  const notification: Notification = {
    ...{ id: `ntf_${made}`, userId: 'usr_1', message: 'Hello', type: 'sms', priority: 'low' },
    ...{ status: 'queued', reason: null, attempts: [], job: 1, version: 1, createdAt: now, updatedAt: now },
  };
  await store.add(notification);
  return notification;
}
const referenceOf = ({ id }: Notification, job = 1) => ({ notificationId: id, job });
const outcomes = async ({ id }: Notification) => {
  const found = await store.findById(id);
  return [found?.status, ...(found?.attempts.map(({ outcome }) => outcome) ?? [])];
};

t.test('one process at a time; what has ended is not begun again', async (t) => {
  const notification = await add();
  const reference = referenceOf(notification);
  t.match(await one.begin(reference, LEASE), { state: 'begun', attempt: 1 });
  for (const alone of [false, true]) {
    t.match(await other.begin(reference, { ...LEASE, alone }), { state: 'busy', ms: Number });
  }
  t.ok(await one.renew(reference, 1, 10_000));
  t.notOk(await other.renew(reference, 1, 10_000), 'nobody else’s');
  await other.end(reference, 1, { outcome: 'failed', error: 'not mine', providerId: null });
  t.same(await outcomes(notification), ['sending', 'running']);
  await one.end(reference, 1, { outcome: 'accepted', error: null, providerId: 'SM1' });
  t.same(await outcomes(notification), ['sent', 'accepted']);
  t.match(await other.begin(reference, LEASE), { state: 'ended' });
});

t.test('an attempt that never ended becomes unknown, and is followed by one that runs alone', async (t) => {
  const notification = await add();
  const reference = referenceOf(notification);
  await one.begin(reference, SHORT);
  await sleep(30);
  t.match(await other.begin(reference, LEASE), { state: 'alone' });
  t.same(await outcomes(notification), ['sending', 'running'], 'nothing is counted');
  t.match(await other.begin(reference, { ...LEASE, alone: true }), { state: 'begun', attempt: 2 });
  t.same(await outcomes(notification), ['sending', 'unknown', 'running']);
  await one.end(reference, 1, { outcome: 'accepted', error: null, providerId: null });
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
  await one.begin(reference, LEASE);
  await one.end(reference, 1, { ...failed, retryInMs: 0 });
  t.match(await store.findById(notification.id), { status: 'queued', reason: 'down' });
  t.match(await other.begin(reference, LEASE), { state: 'begun', attempt: 2 });
  await other.takeBack(reference, 2, 'unreachable', 0);
  t.same(await outcomes(notification), ['queued', 'failed'], 'one that does not count leaves no trace');
  t.match(await one.begin(reference, LEASE), { state: 'begun', attempt: 2 });
  await one.end(reference, 2, { ...failed, retryInMs: 60_000 });
  t.match(await other.begin(reference, LEASE), { state: 'busy', ms: Number }, 'its pause is not over');
});

t.test('a cancellation and an attempt: one wins, whoever was first to decide', async (t) => {
  const cancelled = await add();
  await store.update(cancelled.id, (current) => change(current, { status: 'cancelled' }), undefined);
  t.match(await one.begin(referenceOf(cancelled), LEASE), { state: 'ended' });
  const begun = await add();
  let decisions = 0;
  const late = store.update(
    begun.id,
    (current) => {
      decisions += 1;
      return change(current, { status: 'cancelled' });
    },
    undefined,
  );
  await one.begin(referenceOf(begun), LEASE);
  const isCancelled = await late.then(
    () => true,
    () => false,
  );
  t.same(
    await outcomes(begun),
    isCancelled ? ['cancelled'] : ['sending', 'running'],
    `${decisions} decisions`,
  );
});

t.test('a new priority makes a new job, and voids the one before', async (t) => {
  const notification = await add();
  await store.update(notification.id, (current) => change(current, { priority: 'high' }), undefined);
  t.match(await one.begin(referenceOf(notification), LEASE), { state: 'ended' });
  t.match(await one.begin(referenceOf(notification, 2), LEASE), { state: 'begun', attempt: 1 });
});

t.test('a replay counts from 1 again, and keeps what was', async (t) => {
  const notification = await add();
  const reference = referenceOf(notification);
  await one.begin(reference, LEASE);
  await one.reset(reference);
  t.same(await outcomes(notification), ['sending', 'running'], 'only what has failed');
  await one.end(reference, 1, { outcome: 'failed', error: 'down', providerId: null });
  await one.reset(reference);
  t.match(await one.begin(reference, LEASE), { state: 'begun', attempt: 1 });
  t.same(await outcomes(notification), ['sending', 'failed', 'running']);
});

t.test('what should have ended is found by an index, and not again at once', async (t) => {
  const notification = await add();
  const later = new Date(Date.now() + 1000);
  t.ok((await one.overdue(later, 1000, 1000)).some(({ id }) => id === notification.id));
  t.same(await one.overdue(new Date(Date.now() - 1000), 1000, 1000), []);
  const unended = await one.countUnended();
  await one.begin(referenceOf(notification), LEASE);
  await one.end(referenceOf(notification), 1, {
    ...{ outcome: 'accepted', error: null, providerId: null },
  });
  t.equal(await one.countUnended(), unended - 1);
});
