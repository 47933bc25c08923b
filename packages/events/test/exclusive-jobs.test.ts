import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { createTurns } from '../src/exclusive-jobs.ts';

/** What a promise has resolved to by now. */
async function stateOf<T>(promise: Promise<T>): Promise<T | 'waits'> {
  await nextTurn();
  return Promise.race([promise, Promise.resolve('waits' as const)]);
}

t.test('a job runs alone after those under way, and keeps the others waiting', async (t) => {
  const turns = createTurns();
  const leave = await turns.enter();
  const exclusive = turns.enterAlone();
  const next = turns.enter();
  t.ok(turns.closed());
  t.equal(await turns.enterAlone(), undefined, 'never two');
  t.equal(await stateOf(exclusive), 'waits');
  leave();
  const leaveAlone = await exclusive;
  t.equal(await stateOf(next), 'waits');
  leaveAlone?.();
  await next;
  t.notOk(turns.closed());
});

t.test('neither a job that hangs nor a long one alone holds up others for long', async (t) => {
  const turns = createTurns({ waitMs: 20, aloneMs: 40 });
  const leave = await turns.enter();
  const leaveAlone = await turns.enterAlone();
  const from = performance.now();
  (await turns.enter())();
  t.ok(performance.now() - from < 1000, 'the long one has not ended');
  t.equal(await turns.enterAlone(), undefined, 'and nobody else runs alone beside it');
  leaveAlone?.();
  leave();
  t.type(await turns.enterAlone(), 'function');
});
