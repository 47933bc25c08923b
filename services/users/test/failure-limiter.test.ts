import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { createFailureLimiter } from '../src/failure-limiter.ts';

t.test('each key has a maximum of failures per window', async (t) => {
  const limiter = createFailureLimiter({ max: 2, seconds: 60 });
  limiter.consume('a');
  limiter.consume('a');
  t.throws(() => limiter.consume('a'), /try again in 60 s/);
  limiter.consume('b');
});

t.test('an attempt that did not fail is refunded', async (t) => {
  const limiter = createFailureLimiter({ max: 2, seconds: 60 });
  for (let i = 0; i < 10; i += 1) {
    limiter.consume('a');
    limiter.refund('a');
  }
  limiter.consume('a');
  limiter.consume('a');
  t.throws(() => limiter.consume('a'), /Too many failures/);
  limiter.refund('a');
  limiter.consume('a');
  limiter.refund('nobody');
  t.throws(() => limiter.consume('a'));
  limiter.forget('a');
  limiter.consume('a');
});

t.test('a window ends', async (t) => {
  const limiter = createFailureLimiter({ max: 1, seconds: 0.02 });
  limiter.consume('a');
  t.throws(() => limiter.consume('a'));
  await sleep(30);
  limiter.consume('a');
});

t.test('the number of keys is bounded', async (t) => {
  const limiter = createFailureLimiter({ max: 1, seconds: 60 });
  limiter.consume('first');
  for (let i = 0; i < 20_000; i += 1) limiter.consume(`k${i}`);
  limiter.consume('first');
  t.throws(() => limiter.consume('k19999'), /Too many failures/, 'the latest are kept');
});
