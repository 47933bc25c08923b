import { setTimeout as sleep } from 'node:timers/promises';
import { createRateLimiter } from '@gatehouse/http/rate-limit';
import type { ServiceError } from '@gatehouse/kit/errors';
import t from 'tap';

t.test('a quota is counted down, then refused', async (t) => {
  const limiter = createRateLimiter({ name: 'address', quota: 3, seconds: 60 });
  for (const left of [2, 1, 0]) {
    t.strictSame(await limiter.count('a'), {
      'ratelimit-policy': '"address";q=3;w=60',
      ratelimit: `"address";r=${left};t=60`,
    });
  }
  for (const time of ['once', 'and again']) {
    const refused: ServiceError = await limiter.count('a').catch((error) => error);
    t.strictSame([refused.kind, refused.status], ['rate_limited', 429], time);
    t.equal(refused.message, 'Too many requests: try again in 60 s.');
    t.strictSame(refused.headers, {
      'ratelimit-policy': '"address";q=3;w=60',
      ratelimit: '"address";r=0;t=60',
      'retry-after': '60',
    });
  }
  t.match(await limiter.count('b'), { ratelimit: '"address";r=2;t=60' }, 'each key has its own');
});

t.test('two limiters of the same name count apart', async (t) => {
  const policy = { name: 'address', quota: 1, seconds: 60 };
  await createRateLimiter(policy).count('a');
  t.match(await createRateLimiter(policy).count('a'), { ratelimit: '"address";r=0;t=60' });
});

t.test('many at once are counted exactly', async (t) => {
  const limiter = createRateLimiter({ name: 'address', quota: 10, seconds: 60 });
  const results = await Promise.allSettled(Array.from({ length: 50 }, () => limiter.count('a')));
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 10);
});

t.test('strange keys are only keys', async (t) => {
  const limiter = createRateLimiter({ name: 'address', quota: 2, seconds: 60 });
  for (const key of ['__proto__', 'constructor', '', 'a b', '::1']) {
    t.match(await limiter.count(key), { ratelimit: '"address";r=1;t=60' }, `"${key}"`);
  }
});

t.test('when the window has passed there is a new quota', async (t) => {
  const limiter = createRateLimiter({ name: 'address', quota: 1, seconds: 1 });
  const begin = performance.now();
  await limiter.count('a');
  await t.rejects(limiter.count('a'), { name: 'ServiceError', headers: { 'retry-after': '1' } });
  let refusals = 0;
  while (performance.now() - begin < 5000) {
    const headers = await limiter.count('a').catch(() => undefined);
    if (headers !== undefined) break;
    refusals += 1;
    await sleep(10);
  }
  const ms = performance.now() - begin;
  t.ok(ms >= 990 && ms < 5000, `after ${ms} ms`);
  t.ok(refusals > 0, 'and refusals do not lengthen it');
});
