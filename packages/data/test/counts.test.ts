import t from 'tap';
import { createCounts } from '../src/counts.ts';

/** Counts of `size`, each of which takes `takesMs` on the test's clock. */
function build({ takesMs = 20 } = {}) {
  let clock = 0;
  const state = { size: 10, counted: 0, takesMs };
  const counts = createCounts({ keepSeconds: 5, slowMs: 20, maxKeys: 3, now: () => clock });
  const run = async () => {
    state.counted += 1;
    const size = state.size;
    await null;
    clock += state.takesMs;
    return size;
  };
  const insert = () =>
    counts.resize(
      async () => {
        state.size += 1;
      },
      () => 1,
    );
  const pass = (ms: number) => {
    clock += ms;
  };
  return { counts, run, state, insert, pass };
}

t.test('a slow count is cached for some seconds, a fast one never', async (t) => {
  const { counts, run, state, pass } = build();
  t.equal(await counts.count('', run), 10);
  state.size = 11;
  t.equal(await counts.count('', run), 10, 'others have written');
  pass(5000);
  t.equal(await counts.count('', run), 11);
  t.equal(state.counted, 2);
  state.takesMs = 1;
  pass(5000);
  for (const size of [12, 13]) {
    state.size = size;
    t.equal(await counts.count('', run), size);
  }
});

t.test('nobody waits for a long count that is known from before', async (t) => {
  const { counts, run, state, insert, pass } = build({ takesMs: 25 });
  t.equal(await counts.count('', run), 10);
  state.size = 20;
  pass(5000);
  t.equal(await counts.count('', run), 10, 'the earlier one');
  t.equal(await counts.count('', run), 10, 'until it has been counted anew, once');
  await new Promise(setImmediate);
  t.equal(state.counted, 2);
  t.equal(await counts.count('', run), 20);
  await insert();
  pass(5000);
  t.equal(await counts.count('', run), 21, 'with own writes');
  await new Promise(setImmediate);
  pass(305_000);
  state.size = 30;
  t.equal(await counts.count('', run), 30, 'not for ever');
});

t.test('own writes are seen at once', async (t) => {
  const { counts, run, state, insert } = build();
  await counts.count('', run);
  await counts.count('filtered', run);
  await insert();
  t.equal(await counts.count('', run), 11, 'corrected');
  t.equal(state.counted, 2);
  t.equal(await counts.count('filtered', run), 11, 'counted anew');
  t.equal(state.counted, 3);
  await counts.change(async () => {});
  t.equal(await counts.count('', run), 11);
  t.equal(state.counted, 3, 'a change changes no size');
  await counts.count('filtered', run);
  t.equal(state.counted, 4, 'but it may change what is counted under conditions');
  await counts.resize(
    async () => {
      state.size -= 1;
    },
    () => -1,
  );
  t.equal(await counts.count('', run), 10);
  t.equal(state.counted, 4);
});

t.test('a failed write invalidates all counts', async (t) => {
  const { counts, run, state } = build();
  await counts.count('', run);
  const failing = counts.resize(
    async () => {
      state.size += 1;
      throw new Error('no answer');
    },
    () => 1,
  );
  await t.rejects(failing, { message: 'no answer' });
  t.equal(await counts.count('', run), 11);
});

t.test('a count during a write is not cached', async (t) => {
  const { counts, run, state, insert } = build();
  const [before] = await Promise.all([counts.count('', run), insert()]);
  t.ok([10, 11].includes(before));
  t.equal(await counts.count('', run), 11);
  t.equal(state.counted, 2);

  let end: () => void = () => {};
  const slow = counts.resize(
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
    () => 1,
  );
  await counts.count('filtered', run);
  state.size += 1;
  end();
  await slow;
  t.equal(await counts.count('filtered', run), 12);
  t.equal(await counts.count('', run), 12);
});

t.test('concurrent callers share a count that begins after their calls', async (t) => {
  const { counts, run, state } = build();
  state.takesMs = 1;
  const first = counts.count('', run);
  state.size = 11;
  const others = Array.from({ length: 20 }, () => counts.count('', run));
  t.equal(await first, 10);
  t.same(new Set(await Promise.all(others)), new Set([11]));
  t.equal(state.counted, 2);
  const failing = counts.count('x', () => Promise.reject(new Error('away')));
  const next = counts.count('x', run);
  await t.rejects(failing, { message: 'away' });
  t.equal(await next, 11);
});

t.test('the number of cached counts is bounded', async (t) => {
  const { counts, run, state } = build();
  for (const key of ['a', 'b', 'c', 'd']) await counts.count(key, run);
  await counts.count('d', run);
  t.equal(state.counted, 4);
  await counts.count('a', run);
  t.equal(state.counted, 5);
});
