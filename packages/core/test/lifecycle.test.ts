import { createLifecycle } from '@gatehouse/core/lifecycle';
import t from 'tap';

t.test('starts in order, and stops in reverse although parts fail to stop', async (t) => {
  const calls: string[] = [];
  const part = (name: string, fault?: Error) => ({
    start: async () => void calls.push(`start ${name}`),
    stop: async () => {
      calls.push(`stop ${name}`);
      if (fault !== undefined) throw fault;
    },
  });
  const faults = [new Error('one'), new Error('two')];
  const throwing = () => {
    throw faults[1];
  };
  const lifecycle = createLifecycle([part('a'), part('b', faults[0]), { stop: throwing }, part('c'), {}]);
  await lifecycle.start();
  const stopped = lifecycle.stop();
  await t.rejects(stopped, AggregateError);
  t.same(await stopped.catch(({ errors }: AggregateError) => errors), [faults[1], faults[0]]);
  t.same(calls, ['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a']);
});

t.test(
  'a part that fails to start is the failure of the start, and keeps later ones from starting',
  async (t) => {
    const calls: string[] = [];
    const lifecycle = createLifecycle([
      { start: () => Promise.reject(new Error('away')), stop: () => calls.push('stop a') },
      { start: () => calls.push('start b'), stop: () => calls.push('stop b') },
    ]);
    await t.rejects(lifecycle.start(), /away/);
    await lifecycle.stop();
    t.same(calls, ['stop b', 'stop a'], 'what has not started is stopped, too');
  },
);
