import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { createAttempts } from '../src/attempts.ts';

t.test('each key may fail so often in its window, and no more', async (t) => {
  const attempts = createAttempts({ max: 2, seconds: 60 });
  attempts.count('a');
  attempts.count('a');
  t.throws(() => attempts.count('a'), /try again in 60 s/);
  attempts.count('b');
});

t.test('what was no failure is taken back', async (t) => {
  const attempts = createAttempts({ max: 2, seconds: 60 });
  for (let i = 0; i < 10; i += 1) {
    attempts.count('a');
    attempts.takeBack('a');
  }
  attempts.count('a');
  attempts.count('a');
  t.throws(() => attempts.count('a'), /Too many wrong passwords/);
  attempts.takeBack('a');
  attempts.count('a');
  attempts.takeBack('nobody');
});

t.test('a window ends', async (t) => {
  const attempts = createAttempts({ max: 1, seconds: 0.02 });
  attempts.count('a');
  t.throws(() => attempts.count('a'));
  await sleep(30);
  attempts.count('a');
});

t.test('it keeps no more keys than it must', async (t) => {
  const attempts = createAttempts({ max: 1, seconds: 60 });
  attempts.count('first');
  for (let i = 0; i < 20_000; i += 1) attempts.count(`k${i}`);
  attempts.count('first');
  t.throws(() => attempts.count('k19999'), /Too many wrong passwords/, 'the latest are kept');
});
