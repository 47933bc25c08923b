import { setTimeout as sleep } from 'node:timers/promises';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import t from 'tap';

const ignore = () => {};
// A task does not keep its process alive.
const alive = setInterval(ignore, 60_000);
t.teardown(() => clearInterval(alive));

t.test('the first run comes after a pause, or at once', async (t) => {
  for (const immediately of [true, false]) {
    let runs = 0;
    const task = createPeriodicTask({
      run: () => {
        runs += 1;
      },
      everyMs: 60_000,
      immediately,
      onError: ignore,
    });
    task.start();
    task.start();
    await sleep(10);
    await task.stop();
    t.equal(runs, immediately ? 1 : 0);
  }
});

t.test('runs do not overlap, and one that fails is followed by the next', async (t) => {
  const events: string[] = [];
  const third = Promise.withResolvers<void>();
  let runs = 0;
  const task = createPeriodicTask({
    async run() {
      runs += 1;
      events.push(`begin ${runs}`);
      await sleep(5);
      events.push(`end ${runs}`);
      if (runs === 2) throw new Error('the second');
      if (runs === 3) third.resolve();
    },
    everyMs: 1,
    immediately: true,
    onError: (error) => events.push((error as Error).message),
  });
  task.start();
  await third.promise;
  await task.stop();
  t.same(events, ['begin 1', 'end 1', 'begin 2', 'end 2', 'the second', 'begin 3', 'end 3']);
});

t.test(
  'stop() ends a pause at once, waits for a run, and does not report what it brings about',
  async (t) => {
    const began = Promise.withResolvers<void>();
    const errors: unknown[] = [];
    let ended = false;
    const task = createPeriodicTask({
      async run(signal) {
        began.resolve();
        await sleep(60_000, undefined, { signal }).catch(() => {});
        ended = true;
        throw new Error('broken off');
      },
      everyMs: 60_000,
      immediately: true,
      onError: (error) => errors.push(error),
    });
    task.start();
    await began.promise;
    await task.stop();
    t.equal(ended, true, 'the run has ended');
    t.same(errors, []);
    await createPeriodicTask({ run: ignore, everyMs: 1, onError: ignore }).stop();
  },
);

t.test('the pause may depend on how long the last run took', async (t) => {
  const pauses: number[] = [];
  const twice = Promise.withResolvers<void>();
  let runs = 0;
  const task = createPeriodicTask({
    async run() {
      runs += 1;
      if (runs === 2) twice.resolve();
      await sleep(20);
    },
    everyMs: (lastRunMs) => {
      pauses.push(lastRunMs);
      return 1;
    },
    immediately: true,
    onError: ignore,
  });
  task.start();
  await twice.promise;
  await task.stop();
  t.ok((pauses[0] ?? 0) >= 15, `${pauses[0]}`);
});

t.test('wake() ends a pause, or skips the next one, and does nothing else', async (t) => {
  let runs = 0;
  let finish = Promise.withResolvers<void>();
  const task = createPeriodicTask({
    async run() {
      runs += 1;
      await finish.promise;
    },
    everyMs: 60_000,
    immediately: true,
    onError: ignore,
  });
  task.wake();
  task.start();
  finish.resolve();
  await sleep(10);
  t.equal(runs, 1, 'not before the start');
  finish = Promise.withResolvers();
  task.wake();
  await sleep(10);
  t.equal(runs, 2);
  task.wake();
  finish.resolve();
  await sleep(10);
  t.equal(runs, 3, 'a run that had begun before may have missed what has changed');
  const stopped = task.stop();
  task.wake();
  await stopped;
  await sleep(10);
  t.equal(runs, 3, 'nor after the end');
});

t.test('tasks of a process wake it together', async (t) => {
  const times: number[] = [];
  const ended = Promise.withResolvers<void>();
  for (const startMs of [0, 130, 210]) {
    await sleep(startMs);
    const task = createPeriodicTask({
      run() {
        times.push(performance.now());
        if (times.length === 3) ended.resolve();
      },
      everyMs: 1000,
      onError: ignore,
    });
    task.start();
    t.teardown(task.stop);
  }
  await ended.promise;
  const spread = Math.max(...times) - Math.min(...times);
  t.ok(spread < 50 || Math.abs(spread - 500) < 50, `within ${spread} ms`);
});
