import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import type { Job } from '../src/job.ts';
import { createJobStateStore } from '../src/job-state-store.ts';
import type { JobStore } from '../src/job-store.ts';
import { type RunningJob, runJob } from '../src/run-job.ts';

const { store: jobStates } = await startTestDatabase(t, { define: createJobStateStore });

const lease = { leaseMs: 60_000, exclusive: false };
const aMoment = { leaseMs: 1, exclusive: false };
const job = (): Job => ({
  ...{ id: newId('evt'), at: new Date(), data: {} },
  ...{ queue: 'messages', priority: 'normal', lane: 'all' },
});

t.test('attempts are counted, and a job is begun by one at a time', async (t) => {
  const it = job();
  const begun = await Promise.all(Array.from({ length: 5 }, () => jobStates.begin(it, lease)));
  const busy = begun.flatMap((each) => (typeof each === 'object' && 'busyMs' in each ? [each.busyMs] : []));
  t.match(
    begun.filter((each) => typeof each === 'object' && 'attempt' in each),
    [{ attempt: 1 }],
  );
  t.ok(busy.length === 4 && busy.every((ms) => ms > 50_000 && ms <= 60_000));
  await jobStates.end(it, 1, { result: 'failed', error: '', retryInMs: 1 });
  t.strictSame(await jobStates.begin(it, lease), { attempt: 2 });
  await jobStates.end(it, 2, { result: 'postponed', error: '', retryInMs: 1 });
  t.strictSame(await jobStates.begin(it, lease), { attempt: 2 }, 'a postponed attempt does not count');
  await jobStates.end(it, 1, { result: 'succeeded' });
  t.match(await jobStates.begin(it, lease), { busyMs: Number }, 'what an earlier attempt says is not heard');
  await jobStates.end(it, 2, { result: 'succeeded' });
  t.equal(await jobStates.begin(it, lease), 'ended');
  t.equal(await jobStates.renew(it, 2, 1000), false);
  await jobStates.reset(it);
  t.strictSame(await jobStates.begin(it, lease), { attempt: 1 });
});

t.test('each outcome says whether the job has ended', async (t) => {
  for (const result of ['rejected', 'dead'] as const) {
    const it = job();
    await jobStates.begin(it, lease);
    await jobStates.end(it, 1, { result, error: '' });
    t.equal(await jobStates.begin(it, lease), 'ended', result);
  }
});

t.test('an interrupted job runs alone from then on', async (t) => {
  const it = job();
  await jobStates.begin(it, aMoment);
  await sleep(20);
  t.equal(await jobStates.begin(it, lease), 'exclusive');
  t.strictSame(await jobStates.begin(it, { ...lease, exclusive: true }), { attempt: 2 });
  t.match(await jobStates.begin(it, { ...lease, exclusive: true }), { busyMs: Number });
  t.equal(await jobStates.renew(it, 1, 60_000), false, 'it is no longer the first attempt');
  t.equal(await jobStates.renew(it, 2, 60_000), true);
  await jobStates.end(it, 2, { result: 'failed', error: '', retryInMs: 1 });
  t.equal(await jobStates.begin(it, lease), 'exclusive');
  await jobStates.reset(it);
  t.equal(await jobStates.begin(it, lease), 'exclusive', 'after a replay, too');
  t.strictSame(await jobStates.begin(it, { ...lease, exclusive: true }), { attempt: 1 });
});

t.test('a renewed lease goes on', async (t) => {
  const it = job();
  await jobStates.begin(it, { leaseMs: 300, exclusive: false });
  t.equal(await jobStates.renew(it, 1, 60_000), true);
  await sleep(350);
  t.match(await jobStates.begin(it, lease), { busyMs: Number });
});

/** Runs a job that succeeds; returns what it was settled with: the pause in milliseconds until it is delivered again, or 'done'. */
async function settledBy(options: Partial<Parameters<typeof runJob>[1]>) {
  const settled: (number | 'done')[] = [];
  await runJob(
    {
      ...{ job: job(), deliveries: 1, working() {} },
      done: async () => void settled.push('done'),
      retry: async (afterMs) => void settled.push(afterMs),
    },
    {
      // Nothing else of it is needed for a job that succeeds.
      ...{ jobStates, store: { leaseMs: 10_000 } as JobStore, running: new Set(), logger },
      ...{ handler() {}, timeoutMs: 10_000, maxAttempts: 8, backoffMs: { first: 1, max: 1 } },
      ...{ shutdown: new AbortController().signal, logUnsettled() {}, logUnrenewed() {} },
      ...options,
    },
    () => {},
  );
  return settled;
}

t.test('a job whose outcome was recorded, but with the answer lost, leaves its worker', async (t) => {
  const running = new Set<RunningJob>();
  const settled = settledBy({
    running,
    jobStates: {
      ...jobStates,
      async end(...outcome) {
        await jobStates.end(...outcome);
        for (const each of running) each.extend();
        throw new Error('the connection was lost');
      },
    },
  });
  t.strictSame(await settled, [10_000], 'it is delivered again, and found to have ended');
});

t.test('a job that has begun when its worker must end is left to others', async (t) => {
  const shutdown = AbortSignal.abort();
  let begun: Job | undefined;
  const recording = {
    ...jobStates,
    begin: (...[job, how]: Parameters<typeof jobStates.begin>) => {
      begun = job;
      return jobStates.begin(job, how);
    },
  };
  const handler = () => t.fail('it is not begun');
  t.strictSame(await settledBy({ shutdown, handler, jobStates: recording }), [0]);
  t.strictSame(begun && (await jobStates.begin(begun, lease)), { attempt: 1 }, 'and has lost no attempt');
});
