import { setImmediate as nextTurn } from 'node:timers/promises';
import { endDryRun, untilFirstWrite } from '@gatehouse/core/dry-run';
import { createBatches } from '@gatehouse/data/batches';
import t from 'tap';

t.test(
  'what is asked for while a batch is under way is in the next one, and gets its own result',
  async (t) => {
    const batches: (readonly number[])[] = [];
    const double = createBatches<number, number>({
      max: 3,
      async run(items) {
        batches.push(items);
        await nextTurn();
        if (items.includes(-1)) throw new Error('a bad batch');
        return items.map((item) => item * 2);
      },
    });
    const first = [1, 2].map(double);
    await Promise.resolve();
    await Promise.resolve();
    const second = [3, 4, 5, 6, -1].map(double);
    second.push(...[7].map(double));
    t.strictSame(await Promise.all(first), [2, 4]);
    t.strictSame(await Promise.all(second.slice(0, 3)), [6, 8, 10]);
    const failed = await Promise.allSettled(second.slice(3));
    t.ok(failed.every((result) => result.status === 'rejected'));
    t.equal(await double(9), 18, 'after a failure');
    t.strictSame(batches, [[1, 2], [3, 4, 5], [6, -1, 7], [9]]);
  },
);

t.test('parallel batches have the items of one turn each, and wait for nothing', async (t) => {
  const batches: (readonly number[])[] = [];
  const { promise: never, resolve: end } = Promise.withResolvers<void>();
  const add = createBatches<number, number>({
    ...{ max: 2, isParallel: true },
    async run(items) {
      batches.push(items);
      if (items.includes(1)) await never;
      return items;
    },
  });
  const first = [1, 2, 3].map(add);
  await nextTurn();
  await nextTurn();
  t.strictSame(await Promise.all([4, 5].map(add)), [4, 5], 'while the first one hangs');
  t.equal(await first[2], 3);
  end();
  t.strictSame(await Promise.all(first), [1, 2, 3]);
  t.strictSame(batches, [[1, 2], [3], [4, 5]]);
});

t.test('an item of a dry run is handled by itself', async (t) => {
  const batches: (readonly number[])[] = [];
  const insert = createBatches<number, number>({
    max: 3,
    async run(items) {
      batches.push(items);
      endDryRun();
      return items;
    },
  });
  const dry = untilFirstWrite(() => insert(1));
  t.strictSame(await Promise.all([dry, insert(2), insert(3)]), [undefined, 2, 3]);
  t.strictSame(batches, [[1], [2, 3]]);
});
