import { createJobCollection } from '@gatehouse/events/job-collection';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { notificationJobs } from '../src/notifications/notification-jobs.ts';
import { createNotificationStore } from '../src/notifications/store/notification-store.ts';
import { createFormerJobs } from '../src/queues/former-jobs.ts';
import { createReportStore } from '../src/reports/report-store.ts';
import { createDeliveryStore } from '../src/webhooks/delivery-store.ts';

/** As many of each kind wait. */
const COUNT = 1000;
const [past, later] = [new Date(Date.now() - 60_000), new Date(Date.now() + 60_000)];

const { connection, store } = await startTestDatabase(t, {
  define(connection) {
    createDeliveryStore(connection);
    createReportStore(connection);
    return createNotificationStore(connection, { announce() {}, logger });
  },
});
const collection = (name: string) => connection.collection<{ _id: string }>(name);
const insert = (name: string, documents: object[]) => collection(name).insertMany(documents as never[]);
const find = (name: string, _id: string) => collection(name).findOne({ _id });
const many = (make: (i: number) => object) => Array.from({ length: COUNT }, (_, i) => make(i));

const common = { created_at: past, updated_at: past, check_at: past, version: 3 };
const notification = { ...common, type: 'sms', priority: 'low', job: 2, lease_until: null, holder: null };
const waiting = { ...notification, status: 'queued', sender: 'usr_ann', due_at: past, job_attempts: 1 };

t.test('what waits is taken over, and what a former replica works on is not', async (t) => {
  await insert('notifications', [
    ...many((i) => ({ ...waiting, _id: `ntf_${i}` })),
    { ...waiting, _id: 'ntf_leased', status: 'sending', lease_until: later, holder: 'att_1' },
    { ...waiting, _id: 'ntf_done', status: 'sent', check_at: null },
    { ...waiting, _id: 'ntf_cancelled', status: 'cancelled', job: null },
  ]);
  const urgent = () => store.update('ntf_0', (it) => ({ ...it, priority: 'high' }), undefined);
  await t.rejects(urgent(), /being taken over/, 'a priority is not changed before');
  await insert('webhooks', [
    { _id: 'whk_1', owner: 'app_1', basis: { owner: 'usr_ann' } },
    { _id: 'whk_2', owner: 'usr_bob' },
  ]);
  const delivery = {
    ...common,
    status: 'pending',
    next_attempt_at: later,
    run: 1,
    begun: 4,
    leased_until: new Date(0),
  };
  await insert('webhook_deliveries', [
    ...many((i) => ({
      ...delivery,
      _id: `dlv_${i}`,
      webhook: `whk_${1 + (i % 2)}`,
      aggregate: 'a',
      sequence: i,
    })),
    { ...delivery, _id: 'dlv_leased', webhook: 'whk_1', leased_until: later },
  ]);
  const report = { ...common, status: 'queued', requester: 'usr_ann' };
  await insert('reports', [
    { ...report, _id: 'rpt_1', job_id: 'job_1' },
    { ...report, _id: 'rpt_leased', job_id: 'job_2', status: 'running' },
  ]);
  await insert('job_attempts', [{ _id: 'reports.job_2', attempts: 2, leased_until: later }]);
  const former = createFormerJobs({ connection, nats: undefined, logger });
  await former.prepare();
  await former.prepare();
  const free = { holder: null, since: past };
  t.match(await find('notifications', 'ntf_7'), {
    ...{ status: 'queued', version: 3, check_at: undefined, sender: undefined },
    job: { ...free, lane: 'sms', priority: 'low', owner: 'usr_ann', due: past, attempts: 1 },
  });
  t.match(await find('notifications', 'ntf_leased'), { job: 2, holder: 'att_1' });
  t.match(await find('notifications', 'ntf_done'), { job: 2 });
  t.match(await find('notifications', 'ntf_cancelled'), { job: null }, 'cancelled since, by a new replica');
  for (const [i, owner] of [
    [0, 'usr_ann'],
    [1, 'usr_bob'],
  ] as const) {
    const job = { ...free, lane: 'all', priority: 'normal', owner, due: later, attempts: 4 };
    t.match(await find('webhook_deliveries', `dlv_${i}`), { job, run: undefined });
  }
  t.match(await find('webhook_deliveries', 'dlv_leased'), { job: undefined, begun: 4 });
  t.match(await find('reports', 'rpt_1'), { job: { ...free, lane: 'all', owner: 'usr_ann', attempts: 0 } });
  t.match(await find('reports', 'rpt_leased'), { job: undefined, job_id: 'job_2' });
  t.equal(await collection('notifications').countDocuments({ 'job.due': past }), COUNT);
  const jobs = createJobCollection('messages', notificationJobs({ connection }));
  const wanted = [{ priority: 'low', owner: 'usr_ann', max: 3 }] as const;
  t.match(await jobs.claim('sms', wanted, { leaseMs: 1000, except: new Map() }), [{ attempt: 2 }, {}, {}]);
});

const letterOf = (id: string) => ({
  job: { id: `${id}-1`, at: past, priority: 'high', lane: 'sms', data: { notification: id, job: 1 } },
  ...{ attempts: 8, error: 'It failed.', failedAt: later },
});
const dead = {
  lane: 'sms',
  priority: 'high',
  attempts: 8,
  due: null,
  dead: { at: later, error: 'It failed.' },
};

t.test('dead letters are taken over', async (t) => {
  const failed = (id: string) => ({ ...notification, _id: id, status: 'failed', check_at: null });
  await insert('notifications', [failed('ntf_dead')]);
  await insert('dead_letters', [{ _id: 'messages.ntf_dead-1', queue: 'messages', ...letterOf('ntf_dead') }]);
  const former = createFormerJobs({ connection, nats: undefined, logger });
  await former.takeOverDead();
  t.match(await find('notifications', 'ntf_dead'), { job: dead });
  t.equal(await collection('dead_letters').countDocuments(), 0);
});
