import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { withDeadline } from '../../src/notifications/deadline.ts';

const untilAborted = (signal: AbortSignal) => sleep(10_000, 'late', { signal });
const timers = () => process.getActiveResourcesInfo().filter((it) => it === 'Timeout').length;

t.test('an action ends by itself, by its deadline, or with another signal', async (t) => {
  const outer = new AbortController();
  const before = timers();
  t.equal(await withDeadline(10_000, async () => 'done', outer.signal), 'done');
  await t.rejects(
    withDeadline(10_000, () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  );
  await t.rejects(withDeadline(5, untilAborted, outer.signal), { cause: { name: 'TimeoutError' } });
  const running = withDeadline(10_000, untilAborted, outer.signal);
  outer.abort(new Error('stopped'));
  await t.rejects(running, { cause: { message: 'stopped' } });
  await t.rejects(withDeadline(10_000, untilAborted, outer.signal), { cause: { message: 'stopped' } });
  t.equal(getEventListeners(outer.signal, 'abort').length, 0, 'nothing listens any more');
  t.equal(timers(), before);
});
