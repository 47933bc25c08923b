import { setTimeout as sleep } from 'node:timers/promises';
import { defineCollection } from '@gatehouse/data/collection';
import { type JobDocument, OPEN_JOBS_INDEX } from '@gatehouse/data/open-jobs';
import { type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';
import { createJobPublisher } from '../src/job-publisher.ts';
import type { Depth } from '../src/job-queue.ts';

const HOUR = 3_600_000;

async function setUp(t: Test, times: { everyMs?: number; overdueMs?: number } = {}) {
  const { store: things, connection } = await startTestDatabase(t, {
    uri: monitored(await testDatabase(t)),
    define: (connection) => defineCollection<JobDocument>(connection, 'things', [OPEN_JOBS_INDEX]),
  });
  const published: OutboxEvent[] = [];
  const queue = {
    fails: false,
    refuses: undefined as ((id: string) => boolean) | undefined,
    waiting: 0,
    async publish(event: OutboxEvent) {
      if (queue.fails || queue.refuses?.(event.id)) throw new Error('NATS is away');
      published.push(event);
    },
    depth: async () => [{ waiting: queue.waiting, inFlight: 0 } as Depth],
  };
  const jobs = createJobPublisher<JobDocument>({
    ...{ queue, collection: connection.collection('things'), projection: {}, logger },
    eventOf: ({ _id }) => ({ ...outboxEvent('jobs', {}, _id) }),
    ...times,
  });
  t.teardown(jobs.stop);
  const add = async (id: string, agoMs: number) => {
    const at = new Date(Date.now() - agoMs);
    await things.insertOne({ _id: id, created_at: at, check_at: at });
  };
  const checkAt = async (id: string) => (await things.findOne({ _id: id }))?.check_at?.getTime() ?? 0;
  return { things, connection, queue, jobs, add, checkAt, ids: () => published.map(({ id }) => id) };
}

t.test('a job is published at once, and again after a while when the queue was away', async (t) => {
  const { queue, jobs, ids } = await setUp(t);
  jobs.publish(outboxEvent('jobs', {}, 'first'));
  await until(() => ids().length === 1, 1000);
  queue.fails = true;
  for (let i = 0; i < 600; i += 1) jobs.publish(outboxEvent('jobs', {}, `late${i}`));
  queue.fails = false;
  await until(() => ids().length === 601, 20_000);
  t.equal(new Set(ids()).size, 601);
});

t.test(
  'what a process has left is published by the next one, and by others when it is overdue',
  async (t) => {
    const { jobs, ids, add, things, checkAt } = await setUp(t, { everyMs: 50, overdueMs: HOUR });
    await add('new', 0);
    await things.insertOne({ _id: 'ended', created_at: new Date(0), check_at: null });
    jobs.start();
    await until(() => ids().length > 0, 5000);
    await add('young', HOUR / 2);
    await add('old', 2 * HOUR);
    const begun = Date.now();
    await until(() => ids().length > 1, 5000);
    t.strictSame(ids(), ['new', 'old']);
    t.ok((await checkAt('old')) >= begun + HOUR - 1000, 'it is checked again after half of its age');
  },
);

t.test('the first sweep is repeated soon while the queue is away', async (t) => {
  const { queue, jobs, ids, add } = await setUp(t, { everyMs: HOUR });
  await add('left', 0);
  queue.fails = true;
  jobs.start();
  await sleep(100);
  t.strictSame(ids(), []);
  queue.fails = false;
  await until(() => ids().length === 1, 10_000);
});

t.test('a job that is refused is published soon, and keeps no others waiting', async (t) => {
  const { queue, jobs, ids, add, things } = await setUp(t, { everyMs: 50, overdueMs: 100 });
  let refusals = 0;
  queue.refuses = (id) => id.startsWith('low') && ++refusals > 0;
  for (let i = 0; i < 60; i += 1) await add(`low${i}`, 3 * HOUR - i);
  for (let i = 0; i < 120; i += 1) await add(`high${i}`, 2 * HOUR - i);
  jobs.start();
  await until(() => ids().length === 120, 5000);
  await until(async () => (await things.countDocuments({ check_at: { $gt: new Date() } })) === 180, 2000);
  queue.refuses = undefined;
  await until(() => ids().length === 180, 10_000);
  t.equal(new Set(ids()).size, 180, 'none is published twice');
  t.ok(refusals >= 60);
});

t.test(
  'when many are missing from the queue, those are published that were to be checked later',
  async (t) => {
    const { queue, jobs, ids, things } = await setUp(t, { everyMs: 50, overdueMs: HOUR });
    const soon = new Date(Date.now() + HOUR / 2);
    const many = Array.from({ length: 700 }, (_, i) => ({
      _id: `${i}`,
      created_at: new Date(),
      check_at: soon,
    }));
    await things.insertMany(many);
    queue.waiting = 700;
    jobs.start();
    await sleep(300);
    t.strictSame(ids(), [], 'all are there');
    queue.waiting = 0;
    await until(() => ids().length === 700, 10_000);
  },
);

t.test('the sweep reads what is overdue by the index', async (t) => {
  const { connection, jobs, ids, add } = await setUp(t, { everyMs: HOUR });
  await add('left', 1000);
  const plans = await explainQueries(connection, async () => {
    jobs.start();
    await until(() => ids().length === 1, 5000);
  });
  t.same(
    plans.map(({ indexes }) => indexes),
    [['unended'], ['unended']],
  );
});
