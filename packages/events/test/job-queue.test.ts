import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '@gatehouse/data/database';
import { PRIORITIES, type Priority } from '@gatehouse/data/job-document';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';
import { type Attempt, type Job, PermanentError, PostponedError, RetryLaterError } from '../src/job.ts';
import { createJobCollection } from '../src/job-collection.ts';
import type { JobKind } from '../src/job-kind.ts';
import type { DeadLetter } from '../src/job-queue.ts';
import type { WorkOptions } from '../src/job-runner.ts';
import type { JobWorker } from '../src/job-worker.ts';
import { createLocalBroadcast } from '../src/local-broadcast.ts';
import { defineJobs, jobOf, openQueue, type TestJob } from './job-collection.ts';

const database = createDatabase({ uri: await testDatabase(t), name: 'test', logger });
const { connection } = database;
const NAMES = Array.from({ length: 30 }, (_, i) => `jobs_${i}`);
const collections = NAMES.map((name) => defineJobs(connection, name));
await database.start();
const broadcast = createLocalBroadcast();
await broadcast.start();
t.teardown(async () => {
  await broadcast.stop();
  await database.stop();
});
let made = 0;

type Begun = { data: TestJob['data']; owner: string; attempt: number; at: number };

/** A queue with a collection of its own, in as many processes. */
function setUp(
  t: Test,
  {
    leaseMs,
    kind,
    processes = 1,
  }: { leaseMs?: number; kind?: Partial<JobKind<TestJob>>; processes?: number } = {},
) {
  const [name = '', jobs = defineJobs(connection, '')] = [NAMES[made], collections[made]];
  made += 1;
  const opened = Array.from({ length: processes }, () =>
    openQueue(connection, name, {
      logger,
      ...(processes > 1 && { broadcast }),
      ...(leaseMs && { leaseMs }),
      ...(kind && { kind }),
    }),
  );
  const [first] = opened as [(typeof opened)[number]];
  const workers: JobWorker[] = [];
  t.teardown(() => Promise.all(workers.map((worker) => worker.stop())));
  /** Starts a worker that notes what it is given, and what `handle` makes of it. */
  function work(
    handle: (job: Job<TestJob>, attempt: Attempt) => unknown = () => {},
    more: Partial<WorkOptions<TestJob, unknown>> = {},
    { queue } = first,
  ) {
    const begun: Begun[] = [];
    const done: TestJob['data'][] = [];
    const worker = queue.work({
      ...{ lane: 'email', slots: 4, timeoutMs: 20_000, backoffMs: { first: 10, max: 20 }, ...more },
      async handler(job, attempt) {
        const { owner, document } = job;
        begun.push({ data: document.data, owner, attempt: job.attempt, at: performance.now() });
        await handle(job, attempt);
        done.push(document.data);
      },
    });
    worker.start();
    workers.push(worker);
    return { worker, begun, done };
  }
  const depthOf = async (priority: Priority = 'normal', lane = 'email') =>
    (await first.queue.depth()).find((depth) => depth.priority === priority && depth.lane === lane);
  const emptied = () =>
    until(async () => (await first.queue.depth()).every((it) => it.waiting + it.inFlight === 0), 10_000);
  return { ...first, opened, jobs, work, depthOf, emptied };
}

t.test('a job is done once, and its document says what became of it', async (t) => {
  const { add, jobs, work, depthOf, emptied, queue } = setUp(t);
  const id = await add({ n: 1 });
  await add({ n: 2 }, { lane: 'sms', priority: 'high' });
  t.match(await depthOf(), { waiting: 1, inFlight: 0, deadLetters: 0 });
  const oldest = async () => (await depthOf())?.oldestMs ?? 0;
  const age = await oldest();
  t.match(await depthOf('high', 'sms'), { waiting: 1 });
  t.match(await depthOf('high'), { waiting: 0, oldestMs: 0 });
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const email = work(async (_job, { note }) => {
    note({ said: '$$ROOT' });
    await held;
  });
  await until(() => email.begun.length === 1, 5000);
  t.match(await depthOf(), { waiting: 0, inFlight: 1 });
  t.ok((await oldest()) > age, 'what is worked on is as old as before');
  t.match(await jobs.findOne({ _id: id }), { job: { attempts: 1, holder: /^att_/ } });
  release();
  await until(async () => (await depthOf())?.inFlight === 0, 5000);
  t.match(await jobs.findOne({ _id: id }), { job: null, version: 1, result: { said: '$$ROOT' } });
  t.match(await depthOf('high', 'sms'), { waiting: 1 }, 'the other lane has no worker');
  work(undefined, { lane: 'sms' });
  await emptied();
  t.throws(() => queue.work({ lane: 'fax', handler() {}, slots: 1, timeoutMs: 1 }), TypeError);
});

t.test('the slots are shared by weight, and no priority starves', async (t) => {
  const { add, work } = setUp(t);
  for (const priority of PRIORITIES) {
    await Promise.all(Array.from({ length: 40 }, () => add({ priority }, { priority })));
  }
  const { begun } = work(() => {}, { slots: 1 });
  await until(() => begun.length === 120, 20_000);
  const counts = PRIORITIES.map(
    (name) => begun.slice(0, 40).filter(({ data }) => data.priority === name).length,
  );
  t.strictSame(counts, [24, 12, 4]);
});

t.test('a job starts at once, on every replica, also after it was due later', async (t) => {
  const { opened, add } = setUp(t, { processes: 2 });
  for (const it of opened) {
    const { begun, worker } = startedAtOf(it);
    for (const [i, priority] of PRIORITIES.entries()) {
      for (const [delay, place] of [
        [0, () => ({ priority })],
        [300, () => ({ priority, due: new Date(Date.now() + 300) })],
      ] as const) {
        const from = performance.now();
        const count = begun.length;
        await add({ i }, place());
        await until(() => begun.length === count + 1, 5000);
        const ms = (begun.at(-1)?.at ?? 0) - from;
        t.ok(ms >= delay - 5 && ms < delay + 400, `${priority}: ${ms} ms`);
      }
    }
    await worker.stop();
  }
  function startedAtOf({ queue }: (typeof opened)[number]) {
    const begun: { at: number }[] = [];
    const handler = () => void begun.push({ at: performance.now() });
    const worker = queue.work({ lane: 'email', slots: 1, timeoutMs: 1000, handler });
    worker.start();
    t.teardown(worker.stop);
    return { begun, worker };
  }
});

t.test('owners take turns', async (t) => {
  const { add, work } = setUp(t);
  const flood = Array.from({ length: 300 }, () => add({}, { owner: 'flood' }));
  await Promise.all(flood);
  for (const owner of ['ann', 'bob']) for (let n = 0; n < 5; n += 1) await add({}, { owner });
  const { begun } = work(() => sleep(2), { slots: 2 });
  await until(() => begun.length === 310, 20_000);
  for (const owner of ['ann', 'bob']) {
    const last = begun.findLastIndex((it) => it.owner === owner);
    t.ok(last < 40, `the last of ${owner} is number ${last}`);
  }
});

t.test('an owner whose jobs hang leaves slots to others', async (t) => {
  const { add, work } = setUp(t);
  await Promise.all(Array.from({ length: 100 }, () => add({}, { owner: 'slow' })));
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  t.teardown(release);
  const { begun, done } = work(({ owner }) => (owner === 'slow' ? held : undefined), { slots: 16 });
  await until(() => begun.length >= 14, 5000);
  for (let n = 0; n < 20; n += 1) {
    await add({ n }, { owner: 'ann' });
    await until(() => done.length === n + 1, 1000);
  }
  t.equal(begun.filter(({ owner }) => owner === 'slow').length, 14, 'the last eighth is kept');
  release();
});

t.test('a paused lane keeps its jobs without an attempt, and holds up no other', async (t) => {
  const { add, work, depthOf } = setUp(t);
  let paused = true;
  const email = work(() => {}, { paused: () => paused });
  const sms = work(() => {}, { lane: 'sms' });
  for (let i = 0; i < 5; i += 1) await add({ i });
  await add({}, { lane: 'sms', priority: 'low' });
  await until(() => sms.done.length === 1, 5000);
  t.match(await depthOf(), { waiting: 5 });
  paused = false;
  await until(() => email.done.length === 5, 5000);
  paused = true;
  await add({ i: 5 });
  await add({}, { lane: 'sms', priority: 'low' });
  await until(() => sms.done.length === 2, 5000);
  t.equal(email.begun.length, 5);
  paused = false;
  await until(() => email.done.length === 6, 5000);
  t.ok(email.begun.every(({ attempt }) => attempt === 1));
});

t.test('a job that fails is repeated, becomes a dead letter and can be replayed', async (t) => {
  const { queue, add, jobs, work, depthOf, emptied } = setUp(t, { kind: { reset: { result: 'again' } } });
  const broken = new Set([2, 4]);
  const { begun, done } = work(
    ({ document: { data } }) => {
      if (broken.has(Number(data.n))) throw new Error(`broken ${data.n}`);
    },
    { slots: 2, maxAttempts: 4 },
  );
  const ids: string[] = [];
  for (let n = 0; n < 6; n += 1) ids.push(await add({ n }));
  await until(() => done.length === 4, 5000);
  await emptied();
  t.match(await depthOf(), { waiting: 0, inFlight: 0, deadLetters: 2 });
  const numbers = (n: number) => begun.filter(({ data }) => data.n === n).map(({ attempt }) => attempt);
  for (const n of broken) t.strictSame(numbers(n), [1, 2, 3, 4]);
  const { data: letters, next } = await queue.deadLetters.list({ limit: 10 });
  t.equal(next, undefined);
  const letterOf = (n: number) => letters.find(({ id }) => id === ids[n]);
  for (const n of broken) {
    t.match(letterOf(n), { data: { thing: ids[n] }, lane: 'email', attempts: 4, error: `broken ${n}` });
  }
  t.match(await queue.deadLetters.read(`${ids[2]}`), { id: ids[2], failedAt: Date, at: Date });
  t.equal(await queue.deadLetters.read(`${ids[1]}`), undefined);

  // In vain, then after the cause is gone.
  t.equal(await queue.deadLetters.replay(`${ids[2]}`), true);
  await until(async () => (await queue.deadLetters.read(`${ids[2]}`)) !== undefined, 5000);
  broken.clear();
  t.equal(await queue.deadLetters.replay(`${ids[2]}`), true);
  await until(() => done.length === 5, 5000);
  t.strictSame(numbers(2), [1, 2, 3, 4, 1, 2, 3, 4, 1]);
  t.equal(await queue.deadLetters.replay(`${ids[2]}`), false);
  t.equal(await queue.deadLetters.remove(`${ids[2]}`), false);
  t.equal(await queue.deadLetters.remove(`${ids[4]}`), true);
  await emptied();
  t.match(await jobs.findOne({ _id: `${ids[4]}` }), { job: null, result: 'dead' }, 'its document stays');
  t.match(await depthOf(), { deadLetters: 0 });
});

t.test('dead letters are listed by pages, and purged by lane', async (t) => {
  const { queue, add, work, depthOf } = setUp(t);
  const fail = () => {
    throw new Error('broken');
  };
  work(fail, { maxAttempts: 1 });
  work(fail, { maxAttempts: 1, lane: 'sms' });
  const ids = new Set<string>();
  for (let n = 0; n < 7; n += 1) {
    ids.add(await add({ n }, { priority: PRIORITIES[n % 3] ?? 'low', lane: n < 5 ? 'email' : 'sms' }));
  }
  const list = (limit: number, after?: string) =>
    queue.deadLetters.list(after === undefined ? { limit } : { limit, after });
  await until(async () => (await list(10)).data.length === 7, 5000);
  const all: DeadLetter[] = [];
  let page = await list(3);
  for (; page.next !== undefined; page = await list(3, page.next)) all.push(...page.data);
  all.push(...page.data);
  t.strictSame(new Set(all.map(({ id }) => id)), ids);
  const times = all.map(({ failedAt }) => failedAt.getTime());
  t.strictSame(
    times,
    times.toSorted((a, b) => a - b),
  );
  for (const after of ['', 'x', '-1', "1'", '1-$', '9'.repeat(16)]) {
    const error: unknown = await list(3, after).catch((thrown: unknown) => thrown);
    t.match(error, { kind: 'invalid', details: [{ field: 'cursor' }] });
  }
  t.strictSame(await list(3, `${'9'.repeat(15)}-x`), { data: [] }, 'beyond the end');
  t.equal(await queue.deadLetters.purge('sms'), 2);
  t.match(await depthOf('high'), { deadLetters: 2 });
  t.equal(await queue.deadLetters.purge(), 5);
  t.strictSame(await list(3), { data: [] });
});

t.test('errors that say what is to be done', async (t) => {
  const { queue, add, jobs, work, emptied } = setUp(t, { kind: { wasMade: (result) => result === 'made' } });
  const times = new Map<unknown, number>();
  const { begun, done } = work(({ document: { data } }, { note }) => {
    const time = (times.get(data.error) ?? 0) + 1;
    times.set(data.error, time);
    if (data.error === 'permanent') throw new PermanentError('no such address');
    if (data.error === 'made' && time === 1) note('made');
    const isPostponed = data.error === 'postponed' ? time <= 12 : data.error === 'made' && time === 1;
    if (isPostponed) throw new PostponedError('not now', 5);
    if (data.error === 'later' && time === 1) throw new RetryLaterError('too many', 700);
  });
  for (const error of ['permanent', 'postponed', 'made', 'later']) await add({ error });
  await until(() => done.length === 3, 10_000);
  await emptied();
  const of = (error: string) => begun.filter(({ data }) => data.error === error);
  const attempts = (error: string) => of(error).map(({ attempt }) => attempt);
  t.strictSame(attempts('permanent'), [1]);
  t.strictSame(attempts('postponed'), Array(13).fill(1));
  t.strictSame(attempts('made'), [1, 2], 'one that may have been made counts');
  t.strictSame(attempts('later'), [1, 2]);
  const [first, second] = of('later');
  t.ok((second?.at ?? 0) - (first?.at ?? 0) >= 690);
  t.strictSame(await queue.deadLetters.list({ limit: 5 }), { data: [] });
  t.match(await jobs.findOne({ 'data.error': 'permanent' }), { job: null, result: 'rejected' });
});

t.test('a handler that hangs frees its slot, and its job becomes a dead letter', async (t) => {
  const { queue, add, work } = setUp(t);
  const signals: AbortSignal[] = [];
  const { done } = work(
    ({ document: { data } }, { signal }) => {
      if (data.n !== 0) return undefined;
      signals.push(signal);
      return new Promise(() => {});
    },
    { slots: 1, timeoutMs: 80, maxAttempts: 3 },
  );
  const id = await add({ n: 0 }, { priority: 'high' });
  for (let n = 1; n < 10; n += 1) await add({ n });
  await until(() => done.length === 9, 5000);
  await until(async () => (await queue.deadLetters.read(id)) !== undefined, 5000);
  t.match(await queue.deadLetters.read(id), { error: 'The attempt took longer than 80 ms.', attempts: 3 });
  t.strictSame(
    signals.map(({ aborted }) => aborted),
    [true, true, true],
  );
});

t.test('a long attempt keeps its lease; two processes never run the same job', async (t) => {
  const { add, opened, work, emptied } = setUp(t, { leaseMs: 600, processes: 2 });
  const workers = opened.map((it) => work(() => sleep(1500), {}, it));
  for (let n = 0; n < 8; n += 1) await add({ n });
  await emptied();
  t.equal(workers.flatMap(({ begun }) => begun).length, 8);
});

t.test('many jobs and two processes: each is done once', async (t) => {
  const { add, opened, jobs, work, emptied } = setUp(t, { processes: 2 });
  const workers = opened.map((it) => work(() => {}, { slots: 8 }, it));
  await Promise.all(Array.from({ length: 400 }, (_, n) => add({ n }, { owner: `own_${n % 7}` })));
  await emptied();
  const done = workers.flatMap((it) => it.done.map(({ n }) => n));
  t.equal(done.length, 400);
  t.equal(new Set(done).size, 400);
  t.equal(await jobs.countDocuments({ version: 1, result: 'succeeded' }), 400);
});

t.test('an attempt ends soon after its document is gone, and records nothing', async (t) => {
  const { add, jobs, work } = setUp(t, { leaseMs: 3000 });
  const reasons: unknown[] = [];
  const ids: string[] = [];
  const { begun, worker } = work(
    (_job, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason);
          reject(signal.reason);
        });
      }),
  );
  for (const change of [
    (_id: string) => jobs.deleteOne({ _id }),
    (_id: string) => jobs.updateOne({ _id }, { $set: { 'job.holder': 'att_other' } }),
    (_id: string) => jobs.updateOne({ _id }, { $set: { job: null } }),
  ]) {
    const count = begun.length;
    const id = await add();
    ids.push(id);
    await until(() => begun.length === count + 1, 5000);
    const from = performance.now();
    await change(id);
    await until(() => reasons.length === count + 1, 5000);
    t.ok(performance.now() - from < 2000);
  }
  // It waits for outcomes that are being recorded.
  await worker.stop();
  for (const _id of ids) t.equal((await jobs.findOne({ _id }))?.result, undefined);
});

t.test('a job that was interrupted runs alone, and counts its attempt', async (t) => {
  const { add, jobs, work } = setUp(t, { leaseMs: 3000 });
  const past = new Date(Date.now() - 1000);
  const interrupted = await add({ n: 'again' }, { due: past, attempts: 1, holder: 'att_dead' });
  const dead = await add({ n: 'dead' }, { due: past, attempts: 8, holder: 'att_dead' });
  let running = 0;
  const beside: [unknown, number][] = [];
  const { begun, done } = work(async ({ document: { data } }) => {
    running += 1;
    beside.push([data.n, running]);
    await sleep(100);
    running -= 1;
  });
  for (let n = 0; n < 6; n += 1) await add({ n });
  await until(() => done.length === 7, 10_000);
  t.match(
    begun.find(({ data }) => data.n === 'again'),
    { attempt: 2 },
  );
  t.strictSame(
    beside.find(([n]) => n === 'again'),
    ['again', 1],
  );
  t.match(await jobs.findOne({ _id: interrupted }), { result: 'succeeded' });
  await until(async () => (await jobs.findOne({ _id: dead }))?.result === 'dead', 5000);
  t.match(await jobs.findOne({ _id: dead }), {
    job: { attempts: 8, dead: { error: /during the last attempt/ } },
  });
});

t.test('one that cannot end its process is claimed with others after its lease', async (t) => {
  const { add, work } = setUp(t, { kind: { mayEndProcess: false } });
  await add({ n: 1 }, { due: new Date(Date.now() - 1000), attempts: 1, holder: 'att_dead' });
  const { begun, done } = work();
  await until(() => done.length === 1, 5000);
  t.match(begun, [{ attempt: 2 }]);
});

t.test('stop lets the jobs under way end and takes no other', async (t) => {
  const { add, work, depthOf } = setUp(t);
  const { worker, begun, done } = work(() => sleep(300), { slots: 2 });
  for (let n = 0; n < 6; n += 1) await add({ n });
  await until(() => begun.length === 2, 5000);
  await worker.stop();
  t.equal(done.length, 2);
  t.equal(begun.length, 2);
  t.match(await depthOf(), { waiting: 4, inFlight: 0 });
  const next = work();
  await until(() => next.done.length === 4, 5000);
  t.ok(next.begun.every(({ attempt }) => attempt === 1));
});

t.test('while outcomes are recorded, their slots are free for as many jobs again', async (t) => {
  const { promise: recorded, resolve: record } = Promise.withResolvers<void>();
  const { add, work, emptied } = setUp(t);
  for (let n = 0; n < 6; n += 1) await add({ n });
  let failures = 2;
  const { begun, done } = work(undefined, {
    slots: 2,
    async onEnding() {
      failures -= 1;
      if (failures >= 0) throw new Error('it is called again');
      await recorded;
    },
  });
  await until(() => done.length === 4, 5000);
  await sleep(200);
  t.equal(begun.length, 4, 'and for no more');
  record();
  await emptied();
  t.equal(done.length, 6);
});

/** The collection with faults: methods that `faults` has are called instead, with the real one. */
type Faults = Record<
  string,
  ((real: (...args: unknown[]) => unknown, args: unknown[]) => unknown) | undefined
>;
const faulty = (name: string, faults: Faults) =>
  new Proxy(connection.collection(name), {
    get(target, key: string) {
      const real = Reflect.get(target, key);
      if (typeof real !== 'function') return real;
      return (...args: unknown[]) => {
        const call = (...given: unknown[]) => real.apply(target, given);
        return faults[key] === undefined ? call(...args) : faults[key](call, args);
      };
    },
  });

t.test('jobs that were claimed are run although the response was lost', async (t) => {
  const faults: Faults = {};
  const { add, work, emptied } = setUp(t, { kind: { collection: faulty(NAMES[made] ?? '', faults) } });
  faults.updateMany = async (real, args) => {
    await real(...args);
    delete faults.updateMany;
    throw new Error('lost on purpose');
  };
  const { begun } = work();
  for (let i = 0; i < 3; i += 1) await add({ n: i });
  await until(() => begun.length === 3, 3000);
  await emptied();
  t.same(
    begun.map(({ attempt }) => attempt),
    [1, 1, 1],
  );
});

t.test('while the database hangs, leases are renewed once at a time, and stop ends', async (t) => {
  const faults: Faults = {};
  const { add, work } = setUp(t, { leaseMs: 300, kind: { collection: faulty(NAMES[made] ?? '', faults) } });
  const { begun, worker } = work(() => new Promise(() => {}));
  await add();
  await until(() => begun.length === 1, 3000);
  let calls = 0;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  for (const method of ['updateMany', 'bulkWrite']) {
    faults[method] = async (real, args) => {
      calls += 1;
      await released;
      return real(...args);
    };
  }
  await until(() => calls > 0, 3000);
  const from = performance.now();
  const stopped = worker.stop();
  await until(() => performance.now() - from > 1000, 3000);
  t.equal(calls, 1);
  await stopped;
  t.ok(performance.now() - from < 7000, `${performance.now() - from} ms`);
  release();
});

t.test('a job that is turned away costs its owner slot-time', async (t) => {
  const { add, work, queue } = setUp(t);
  work(() => {
    throw new PostponedError('not now', 60_000);
  });
  await add();
  await until(() => queue.slotTimes('email').length > 0, 3000);
  t.match(queue.slotTimes('email'), [{ owner: 'ann' }]);
  t.ok((queue.slotTimes('email')[0]?.ms ?? 0) >= 10);
});

t.test('every query is answered by an index', async (t) => {
  const { startTestDatabase } = await import('@gatehouse/testing/start-test-database');
  const { explainQueries, monitored } = await import('@gatehouse/testing/explain');
  const database = await startTestDatabase(t, {
    uri: monitored(await testDatabase(t)),
    define: (own) => defineJobs(own, 'explained'),
  });
  const kind = { noun: 'thing', mayEndProcess: true, changesOf: () => ({ set: {} }) };
  const jobs = createJobCollection('messages', {
    ...kind,
    collection: database.connection.collection('explained'),
  });
  await database.store.insertMany(
    Array.from({ length: 3000 }, (_, i) => ({
      ...{ _id: `job_${i}`, version: 0, data: {} },
      job: i % 3 === 0 ? null : jobOf({ owner: i % 100 === 1 ? `own_${i}` : 'flood' }),
    })),
  );
  const queries: Record<string, () => Promise<unknown>> = {
    claim: () =>
      jobs.claim('email', [{ priority: 'normal', owner: 'flood', max: 5 }], {
        leaseMs: 1000,
        except: new Map(),
      }),
    dueTimes: () => jobs.dueTimes('email'),
    hasInterrupted: () => jobs.hasInterrupted('email'),
    depth: () => jobs.depth('email', 'normal'),
    deadLetters: () => jobs.deadLetters(5),
    deadLetter: () => jobs.deadLetter('job_1'),
  };
  for (const [name, query] of Object.entries(queries)) {
    for (const { stages, keys } of await explainQueries(database.connection, query)) {
      t.notMatch(stages, /COLLSCAN|SORT/, `${name}: ${stages}`);
      if (name === 'dueTimes') t.ok(keys < 100, `${name} looks at ${keys} keys`);
    }
  }
  const owners = await jobs.dueTimes('email');
  t.equal(new Set(owners.map(({ owner }) => owner)).size, 21);
});
