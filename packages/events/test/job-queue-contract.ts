import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { createDatabase } from '@gatehouse/data/database';
import { outboxEvent } from '@gatehouse/data/outbox';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import type { Test } from 'tap';
import {
  type Attempt,
  type Job,
  type JobStateStore,
  PermanentError,
  PostponedError,
  PRIORITIES,
  RetryLaterError,
} from '../src/job.ts';
import type { DeadLetter, JobQueues, JobWorker, WorkOptions } from '../src/job-queue.ts';
import { createJobStateStore } from '../src/job-state-store.ts';

type Connection = ReturnType<typeof createDatabase>['connection'];
/** Makes the queues of the service `test`. */
export type MakeQueues = (t: Test, connection: Connection) => Promise<JobQueues>;

const noWait = { backoffMs: { first: 10, max: 20 } };
const lanes = ['email', 'sms'];

/** What every transport of jobs must do. */
export async function contract(t: Test, makeQueues: MakeQueues): Promise<void> {
  const database = createDatabase({ uri: await testDatabase(t), name: 'test', logger });
  t.teardown(() => database.stop());
  const sharedStates = createJobStateStore(database.connection);
  const queues = await makeQueues(t, database.connection);
  let made = 0;
  const makeQueue = (options: { leaseMs?: number; jobStates?: Partial<JobStateStore> } = {}) => {
    made += 1;
    const jobStates = { ...sharedStates, ...options.jobStates };
    return queues({ leaseMs: 10_000, ...options, name: `messages${made}`, lanes, jobStates });
  };
  makeQueue();
  await database.start();

  function setUp(t: Test, options: { leaseMs?: number; jobStates?: Partial<JobStateStore> } = {}) {
    const queue = makeQueue(options);
    const workers: JobWorker[] = [];
    t.teardown(() => Promise.all(workers.map((worker) => worker.stop())));

    async function publish(
      data: Record<string, unknown>,
      priority: Job['priority'] = 'normal',
      lane = 'email',
    ) {
      const event = outboxEvent(queue.subject(priority, lane), data);
      await queue.publish(event);
      return event;
    }
    /** Starts a worker that notes what it is given, and what `handle` makes of it. */
    function work(
      handle: (job: Job, attempt: Attempt) => unknown = () => {},
      more: Partial<WorkOptions> = {},
    ) {
      const begun: { data: Job['data']; attempt: number; at: number }[] = [];
      const done: Job['data'][] = [];
      const worker = queue.work({
        ...{ lane: 'email', slots: 4, timeoutMs: 20_000, ...noWait, ...more },
        async handler(job, attempt) {
          begun.push({ data: job.data, attempt: attempt.number, at: performance.now() });
          await handle(job, attempt);
          done.push(job.data);
        },
      });
      worker.start();
      workers.push(worker);
      return { worker, begun, done };
    }
    const depthOf = async (priority: Job['priority'] = 'normal', lane = 'email') =>
      (await queue.depth()).find((depth) => depth.priority === priority && depth.lane === lane);
    const emptied = () =>
      until(async () => (await queue.depth()).every((it) => it.waiting + it.inFlight === 0), 10_000);
    return { queue, publish, work, depthOf, emptied };
  }

  t.test('a job has the traceparent of its event, also when it is repeated and replayed', async (t) => {
    const { queue, work } = setUp(t);
    const event = outboxEvent(queue.subject('normal', 'email'), {});
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await queue.publish({ ...event, traceparent });
    const seen: Job[] = [];
    const fail = (job: Job) => {
      seen.push(job);
      throw new Error('it fails');
    };
    work(fail, { maxAttempts: 2 });
    await until(async () => (await queue.deadLetters.read(event.id)) !== undefined, 5000);
    await queue.deadLetters.replay(event.id);
    await until(() => seen.length === 4, 5000);
    t.same(new Set(seen.map((job) => job.traceparent)), new Set([traceparent]));
  });

  t.test('a job is done once, however often it is published', async (t) => {
    const { queue, publish, work, depthOf } = setUp(t);
    const first = await publish({ n: 1 });
    for (let i = 0; i < 3; i += 1) await queue.publish(first);
    await publish({ n: 2 }, 'high', 'sms');
    t.match(await depthOf(), { waiting: 1, inFlight: 0, deadLetters: 0 });
    const oldest = async () => (await depthOf())?.oldestMs ?? 0;
    const age = await oldest();
    t.ok(age > 0);
    t.match(await depthOf('high', 'sms'), { waiting: 1 });
    t.match(await depthOf('high'), { waiting: 0, oldestMs: 0 });
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const seen: Job[] = [];
    const email = work(async (job) => {
      seen.push(job);
      await held;
    });
    await until(() => email.begun.length === 1, 5000);
    t.match(await depthOf(), { waiting: 0, inFlight: 1 });
    t.ok((await oldest()) > age, 'what is worked on is as old as before');
    release();
    await until(() => email.done.length === 1, 5000);
    t.match(await depthOf('high', 'sms'), { waiting: 1 }, 'the other lane has no worker');
    await queue.publish(first);
    await publish({ n: 3 });
    await until(() => email.done.length === 2, 5000);
    t.strictSame(seen[0], {
      ...{ id: first.id, at: first.at, data: { n: 1 } },
      ...{ queue: queue.name, priority: 'normal', lane: 'email' },
    });
    t.strictSame(email.done, [{ n: 1 }, { n: 3 }]);
  });

  t.test('the slots are shared by weight, and no priority starves', async (t) => {
    const { publish, work } = setUp(t);
    for (const priority of PRIORITIES) {
      await Promise.all(Array.from({ length: 40 }, () => publish({ priority }, priority)));
    }
    const { begun } = work(() => {}, { slots: 1 });
    await until(() => begun.length === 120, 20_000);
    const counts = PRIORITIES.map(
      (name) => begun.slice(0, 40).filter(({ data }) => data.priority === name).length,
    );
    t.strictSame(counts, [24, 12, 4]);
  });

  t.test('waiting jobs are found at once, with one slot and any priority', async (t) => {
    const { publish, work } = setUp(t);
    const { done, begun } = work(() => {}, { slots: 1 });
    for (const [i, priority] of [...PRIORITIES, ...PRIORITIES].entries()) {
      const from = performance.now();
      await publish({ i }, priority);
      await until(() => done.length === i + 1, 2000);
      t.ok((begun[i]?.at ?? 0) - from < 500, `${(begun[i]?.at ?? 0) - from} ms`);
    }
  });

  t.test('a job that may overtake others is worked on before its turn, and once', async (t) => {
    const { queue, publish, work, emptied } = setUp(t);
    for (let n = 0; n < 40; n += 1) await publish({ n });
    const last = await publish({ n: 'last' });
    const { subject: _, ...job } = last;
    const asked: [string, number][] = [];
    const { begun, done } = work(() => sleep(5), {
      slots: 2,
      async overtaking(priority, max) {
        asked.push([priority, max]);
        if (asked.length === 1) throw new Error('a failure counts as none');
        return [{ ...job, queue: queue.name, priority, lane: 'email' }];
      },
    });
    await until(() => done.length === 41, 10_000);
    await emptied();
    t.equal(done.length, 41);
    const place = begun.findIndex(({ data }) => data.n === 'last');
    t.ok(place > 0 && place < 10, `its place is ${place}`);
    const others = begun.map(({ data }) => data.n).filter((n) => n !== 'last') as number[];
    t.ok(
      others.every((n, i) => Math.abs(n - i) <= 2),
      'the others come in their order',
    );
    t.ok(asked.every(([priority, max]) => priority === 'normal' && max === 1));
  });

  t.test('a paused lane keeps its jobs without an attempt, and holds up no other', async (t) => {
    const { publish, work, depthOf } = setUp(t);
    let paused = true;
    const email = work(() => {}, { paused: () => paused });
    const sms = work(() => {}, { lane: 'sms' });
    for (let i = 0; i < 5; i += 1) await publish({ i });
    await publish({ i: 9 }, 'low', 'sms');
    await until(() => sms.done.length === 1, 5000);
    t.match(await depthOf(), { waiting: 5 });
    paused = false;
    await until(() => email.done.length === 5, 5000);
    t.ok(email.begun.every(({ attempt }) => attempt === 1));
    paused = true;
    await publish({ i: 5 });
    await publish({ i: 6 });
    await publish({ i: 10 }, 'low', 'sms');
    await until(() => sms.done.length === 2, 5000);
    t.equal(email.begun.length, 5);
    paused = false;
    await until(() => email.done.length === 7, 5000);
    t.ok(email.begun.every(({ attempt }) => attempt === 1));
  });

  t.test('a job that fails is repeated, becomes a dead letter and can be replayed', async (t) => {
    const { queue, publish, work, depthOf, emptied } = setUp(t);
    const broken = new Set([2, 4]);
    const { begun, done } = work(
      ({ data }) => {
        if (broken.has(Number(data.n))) throw new Error(`broken ${data.n}`);
      },
      { slots: 2, maxAttempts: 4 },
    );
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) ids.push((await publish({ n })).id);
    await until(() => done.length === 4, 5000);
    await emptied();
    t.match(await depthOf(), { waiting: 0, inFlight: 0, deadLetters: 2 });
    for (const n of broken) {
      const attempts = begun.filter(({ data }) => data.n === n);
      t.strictSame(
        attempts.map(({ attempt }) => attempt),
        [1, 2, 3, 4],
      );
    }
    const { data: letters, next } = await queue.deadLetters.list({ limit: 10 });
    t.equal(next, undefined);
    t.match(
      [...letters].sort((a, b) => Number(a.job.data.n) - Number(b.job.data.n)),
      [
        { job: { id: ids[2], data: { n: 2 }, lane: 'email' }, attempts: 4, error: 'broken 2' },
        { job: { id: ids[4], data: { n: 4 }, lane: 'email' }, attempts: 4, error: 'broken 4' },
      ],
    );
    t.match(await queue.deadLetters.read(`${ids[2]}`), { job: { id: ids[2] }, failedAt: Date });
    t.equal(await queue.deadLetters.read(`${ids[1]}`), undefined);

    // In vain, then after the cause is gone.
    t.equal(await queue.deadLetters.replay(`${ids[2]}`), true);
    await until(async () => (await queue.deadLetters.read(`${ids[2]}`)) !== undefined, 5000);
    broken.clear();
    t.equal(await queue.deadLetters.replay(`${ids[2]}`), true);
    await until(() => done.length === 5, 5000);
    const numbers = begun.filter(({ data }) => data.n === 2).map(({ attempt }) => attempt);
    t.strictSame(numbers, [1, 2, 3, 4, 1, 2, 3, 4, 1]);
    t.equal(await queue.deadLetters.replay(`${ids[2]}`), false);
    t.equal(await queue.deadLetters.remove(`${ids[2]}`), false);
    t.equal(await queue.deadLetters.remove(`${ids[4]}`), true);
    await emptied();
    t.match(await depthOf(), { deadLetters: 0 });
  });

  t.test('dead letters are listed by pages, and purged by lane', async (t) => {
    const { queue, publish, work, depthOf } = setUp(t);
    const fail = () => {
      throw new Error('broken');
    };
    work(fail, { maxAttempts: 1 });
    work(fail, { maxAttempts: 1, lane: 'sms' });
    const ids = new Set<string>();
    for (let n = 0; n < 7; n += 1)
      ids.add((await publish({ n }, PRIORITIES[n % 3], n < 5 ? 'email' : 'sms')).id);
    const all: DeadLetter[] = [];
    const list = (limit: number, after?: string) =>
      queue.deadLetters.list(after === undefined ? { limit } : { limit, after });
    await until(async () => (await list(10)).data.length === 7, 5000);
    let page = await list(3);
    for (; page.next !== undefined; page = await list(3, page.next)) all.push(...page.data);
    all.push(...page.data);
    t.strictSame(new Set(all.map(({ job }) => job.id)), ids);
    t.equal(all.length, 7);
    t.strictSame(
      all.map(({ failedAt }) => failedAt.getTime()),
      all.map(({ failedAt }) => failedAt.getTime()).sort((a, b) => a - b),
    );
    for (const after of ['', 'x', '-1', "1'", '1-$', '9'.repeat(16)]) {
      const error: unknown = await list(3, after).catch((thrown: unknown) => thrown);
      t.match(error, { kind: 'invalid', details: [{ field: 'cursor' }] });
    }
    t.strictSame(await list(3, '9'.repeat(15)), { data: [] }, 'beyond the end');
    for (const id of ['*', '>', '', 'a.b', 'a b', 'a\nb', '\u00e4']) {
      const { read, replay, remove } = queue.deadLetters;
      t.strictSame(
        [await read(id), await replay(id), await remove(id)],
        [undefined, false, false],
        `${JSON.stringify(id)} is no id`,
      );
    }
    t.equal(await queue.deadLetters.purge('sms'), 2);
    t.match(await depthOf('high'), { deadLetters: 2 });
    t.equal(await queue.deadLetters.purge(), 5);
    t.match(await depthOf('high'), { deadLetters: 0 });
    t.strictSame(await list(3), { data: [] });
  });

  t.test('errors that say what is to be done', async (t) => {
    const { queue, publish, work, emptied } = setUp(t);
    const times = new Map<unknown, number>();
    const { begun, done } = work(({ data: { error } }) => {
      const time = (times.get(error) ?? 0) + 1;
      times.set(error, time);
      if (error === 'permanent') throw new PermanentError('no such address');
      if (error === 'postponed' && time <= 12) throw new PostponedError('not now', 5);
      if (error === 'later' && time === 1) throw new RetryLaterError('too many', 700);
    });
    for (const error of ['permanent', 'postponed', 'later']) await publish({ error });
    await until(() => done.length === 2, 10_000);
    await emptied();
    const of = (error: string) => begun.filter(({ data }) => data.error === error);
    const attempts = (error: string) => of(error).map(({ attempt }) => attempt);
    t.strictSame(attempts('permanent'), [1]);
    t.strictSame(attempts('postponed'), Array(13).fill(1));
    t.strictSame(attempts('later'), [1, 2]);
    const [first, second] = of('later');
    t.ok((second?.at ?? 0) - (first?.at ?? 0) >= 690);
    t.strictSame(await queue.deadLetters.list({ limit: 5 }), { data: [] });
  });

  t.test('a handler that hangs frees its slot, and its job becomes a dead letter', async (t) => {
    const { queue, publish, work } = setUp(t);
    const signals: AbortSignal[] = [];
    const { done } = work(
      ({ data }, { signal }) => {
        if (data.n !== 0) return undefined;
        signals.push(signal);
        return new Promise(() => {});
      },
      { slots: 1, timeoutMs: 80, maxAttempts: 3 },
    );
    const { id } = await publish({ n: 0 }, 'high');
    for (let n = 1; n < 10; n += 1) await publish({ n });
    await until(() => done.length === 9, 5000);
    await until(async () => (await queue.deadLetters.read(id)) !== undefined, 5000);
    t.match(await queue.deadLetters.read(id), { error: 'The attempt took longer than 80 ms.', attempts: 3 });
    t.strictSame(
      signals.map(({ aborted }) => aborted),
      [true, true, true],
    );
  });

  t.test('a long attempt keeps its lease; two workers never run the same job', async (t) => {
    const { queue, publish, work, emptied } = setUp(t, { leaseMs: 600 });
    const workers = [0, 1].map(() => work(() => sleep(1500)));
    for (let n = 0; n < 3; n += 1) {
      const event = await publish({ n });
      // The same job again, in a part of the queue that cannot know of it.
      await queue.publish({ ...event, subject: queue.subject('high', 'email') });
    }
    await emptied();
    t.equal(workers.flatMap(({ begun }) => begun).length, 3);
  });

  t.test('an attempt that another process has taken over is given up', async (t) => {
    const { publish, work, emptied } = setUp(t, { leaseMs: 600, jobStates: { renew: async () => false } });
    const { begun, done } = work((_, { number, signal }) =>
      number > 1 ? undefined : new Promise((_, reject) => signal.addEventListener('abort', reject)),
    );
    await publish({ n: 1 });
    await until(() => done.length === 1, 10_000);
    await emptied();
    t.strictSame(
      begun.map(({ attempt }) => attempt),
      [1, 2],
    );
  });

  t.test('a job whose state is ended is not run, and failures of the store are survived', async (t) => {
    let fails = 3;
    const jobStates: Partial<JobStateStore> = {
      async begin() {
        fails -= 1;
        if (fails >= 0) throw new Error('the database is away');
        return 'ended';
      },
    };
    const { publish, work, emptied } = setUp(t, { jobStates });
    const { begun } = work();
    await publish({});
    await emptied();
    t.strictSame(begun, []);
    t.ok(fails < 0);
  });

  t.test('while outcomes are recorded, their slots are free for as many jobs again', async (t) => {
    const { promise: recorded, resolve: record } = Promise.withResolvers<void>();
    const { publish, work, emptied } = setUp(t, {
      jobStates: { end: (...of) => recorded.then(() => sharedStates.end(...of)) },
    });
    for (let n = 0; n < 6; n += 1) await publish({ n });
    const { begun, done } = work(undefined, { slots: 2 });
    await until(() => done.length === 4, 5000);
    await sleep(200);
    t.equal(begun.length, 4, 'and for no more');
    record();
    await emptied();
    t.equal(done.length, 6);
  });

  t.test('stop lets the jobs under way end and takes no other', async (t) => {
    const { publish, work, depthOf } = setUp(t);
    const { worker, begun, done } = work(() => sleep(300), {
      slots: 2,
    });
    for (let n = 0; n < 6; n += 1) await publish({ n });
    await until(() => begun.length === 2, 5000);
    await worker.stop();
    t.equal(done.length, 2);
    t.equal(begun.length, 2);
    const next = work();
    await until(() => next.done.length === 4, 5000);
    await until(async () => (await depthOf())?.inFlight === 0, 5000);
    t.ok(next.begun.every(({ attempt }) => attempt === 1));
  });

  t.test('jobs of another queue are refused', async (t) => {
    const { queue } = setUp(t);
    t.throws(() => queue.subject('high', 'fax'), TypeError);
    t.throws(() => queue.work({ lane: 'fax', handler() {}, slots: 1, timeoutMs: 1 }), TypeError);
    for (const subject of [
      'things.thing.changed',
      'jobs.other.QUEUE.high.email',
      'jobs.test.others.high.email',
      'jobs.test.QUEUE.urgent.email',
      'jobs.test.QUEUE.high.fax',
      'jobs.test.QUEUE.high.email.x',
    ]) {
      const event = outboxEvent(subject.replace('QUEUE', queue.name), {});
      await t.rejects(queue.publish(event), TypeError, subject);
    }
    const id = `${newId('evt')}.*`;
    await t.rejects(queue.publish({ ...outboxEvent(queue.subject('high', 'sms'), {}), id }), TypeError);
  });
}
