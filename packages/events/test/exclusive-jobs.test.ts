import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { createJobExclusion } from '../src/exclusive-jobs.ts';

/** What a promise has resolved to by now. */
async function stateOf<T>(promise: Promise<T>): Promise<T | 'waits'> {
  await nextTurn();
  return Promise.race([promise, Promise.resolve('waits' as const)]);
}

t.test('a job runs alone after those under way, and keeps the others waiting', async (t) => {
  const jobs = createJobExclusion();
  const leave = await jobs.enter();
  const exclusive = jobs.enterExclusively();
  const next = jobs.enter();
  t.ok(jobs.closed());
  t.equal(await jobs.enterExclusively(), undefined, 'never two');
  t.equal(await stateOf(exclusive), 'waits');
  leave();
  const leaveExclusively = await exclusive;
  t.equal(await stateOf(next), 'waits');
  leaveExclusively?.();
  await next;
  t.notOk(jobs.closed());
});

t.test('neither a job that hangs nor a long one alone holds up others for long', async (t) => {
  const jobs = createJobExclusion({ waitMs: 20, exclusiveMs: 40 });
  const leave = await jobs.enter();
  const leaveExclusively = await jobs.enterExclusively();
  const from = performance.now();
  (await jobs.enter())();
  t.ok(performance.now() - from < 1000, 'the long one has not ended');
  const another = await jobs.enterExclusively();
  t.type(another, 'function', 'nor does it hold up others that run alone');
  leaveExclusively?.();
  t.ok(jobs.closed(), 'the other one still does');
  another?.();
  leave();
  t.notOk(jobs.closed());
});
