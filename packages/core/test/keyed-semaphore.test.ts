import t from 'tap';
import { createKeyedSemaphore } from '../src/keyed-semaphore.ts';

t.test('each key has its permits; the others wait in order', async (t) => {
  const semaphore = createKeyedSemaphore({ permits: 2, maxWaiting: 3 });
  const got: string[] = [];
  const acquire = (name: string) =>
    semaphore.acquire('a', 60_000).then((acquired) => got.push(`${name} ${acquired}`));
  const all = ['1', '2', '3', '4', '5', '6'].map(acquire);
  await Promise.all([all[0], all[1], all[5]]);
  t.same(got, ['1 true', '2 true', '6 false'], 'two at once; the sixth finds three waiting');
  t.equal(await semaphore.acquire('b', 0), true, 'another key is not affected');
  for (const name of ['3', '4', '5']) {
    semaphore.release('a');
    const newcomer = semaphore.acquire('a', 0);
    await all[Number(name) - 1];
    t.equal(got.at(-1), `${name} true`);
    t.equal(await newcomer, false, 'a newcomer does not get it');
  }
  semaphore.release('a');
  t.equal(await semaphore.acquire('a', 0), true);
  for (const key of ['a', 'a', 'b', 'never acquired']) semaphore.release(key);
  t.equal(await semaphore.acquire('a', 0), true);
});

t.test('after waiting too long there is no permit, and no place in the queue', async (t) => {
  const semaphore = createKeyedSemaphore({ permits: 1, maxWaiting: 1 });
  t.equal(await semaphore.acquire('a', 0), true);
  t.equal(await semaphore.acquire('a', 20), false);
  const waiting = semaphore.acquire('a', 60_000);
  t.equal(await semaphore.acquire('a', 60_000), false, 'one waits, and no more may');
  semaphore.release('a');
  t.equal(await waiting, true);
  semaphore.release('a');
  t.equal(await semaphore.acquire('a', 0), true);
});

t.test('the limit on waiting is for all keys together', async (t) => {
  const semaphore = createKeyedSemaphore({ permits: 1, maxWaiting: 1 });
  for (const key of ['a', 'b']) t.equal(await semaphore.acquire(key, 0), true);
  const waiting = semaphore.acquire('a', 60_000);
  const second = semaphore.acquire('b', 60_000);
  for (const key of ['b', 'a']) semaphore.release(key);
  t.same(await Promise.all([second, waiting]), [false, true], 'somebody waits for another key');
});

t.test('one key has a share of the places to wait', async (t) => {
  const semaphore = createKeyedSemaphore({ permits: 1, maxWaiting: 3, maxWaitingOfKey: 2 });
  for (const key of ['a', 'b']) t.equal(await semaphore.acquire(key, 0), true);
  const waiting = [1, 2].map(() => semaphore.acquire('a', 60_000));
  t.equal(await semaphore.acquire('a', 60_000), false);
  const other = semaphore.acquire('b', 60_000);
  for (const key of ['a', 'a', 'b']) semaphore.release(key);
  t.same(await Promise.all([...waiting, other]), [true, true, true]);
});
