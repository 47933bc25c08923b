import { inBatches } from '@gatehouse/kit/in-batches';
import t from 'tap';

t.test('calls that come during a batch are the next one', async (t) => {
  const batches: number[][] = [];
  const call = inBatches(async (items: number[]) => {
    batches.push(items);
    await new Promise(setImmediate);
    if (items.includes(5)) throw new Error('no');
  }, 3);
  const results = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(call));
  t.same(batches, [[1], [2, 3, 4], [5, 6]]);
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
  );
  await call(7);
  t.same(batches.at(-1), [7], 'after a pause');
});
