import t from 'tap';
import { createTurns } from '../../src/sign-in/turns.ts';

t.test('each key has its turns; the others wait in order', async (t) => {
  const turns = createTurns({ most: 2, mostWaiting: 3 });
  const got: string[] = [];
  const take = (name: string) => turns.take('a', 60_000).then((admitted) => got.push(`${name} ${admitted}`));
  const all = ['1', '2', '3', '4', '5', '6'].map(take);
  await Promise.all([all[0], all[1], all[5]]);
  t.same(got, ['1 true', '2 true', '6 false'], 'two at once; the sixth finds three waiting');
  t.equal(await turns.take('b', 0), true, 'another key is not meant');
  for (const name of ['3', '4', '5']) {
    turns.end('a');
    const late = turns.take('a', 0);
    await all[Number(name) - 1];
    t.equal(got.at(-1), `${name} true`);
    t.equal(await late, false, 'who comes now does not get it');
  }
  turns.end('a');
  t.equal(await turns.take('a', 0), true);
  for (const key of ['a', 'a', 'b', 'never taken']) turns.end(key);
  t.equal(await turns.take('a', 0), true);
});

t.test('who waits too long goes without a turn, and leaves the line', async (t) => {
  const turns = createTurns({ most: 1, mostWaiting: 1 });
  t.equal(await turns.take('a', 0), true);
  t.equal(await turns.take('a', 20), false);
  const waiting = turns.take('a', 60_000);
  t.equal(await turns.take('a', 60_000), false, 'one waits, and no more may');
  turns.end('a');
  t.equal(await waiting, true);
  turns.end('a');
  t.equal(await turns.take('a', 0), true);
});

t.test('so many may wait in all lines together', async (t) => {
  const turns = createTurns({ most: 1, mostWaiting: 1 });
  for (const key of ['a', 'b']) t.equal(await turns.take(key, 0), true);
  const waiting = turns.take('a', 60_000);
  const second = turns.take('b', 60_000);
  for (const key of ['b', 'a']) turns.end(key);
  t.same(await Promise.all([second, waiting]), [false, true], 'somebody waits in another line');
});
