import { setTimeout as sleep } from 'node:timers/promises';
import { addressKeys, createAddressLimiter, createRateLimiter } from '@gatehouse/api/http/rate-limit';
import type { ServiceError } from '@gatehouse/core/errors';
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
  let errors = 0;
  while (performance.now() - begin < 5000) {
    const headers = await limiter.count('a').catch(() => undefined);
    if (headers !== undefined) break;
    errors += 1;
    await sleep(10);
  }
  const ms = performance.now() - begin;
  t.ok(ms >= 990 && ms < 5000, `after ${ms} ms`);
  t.ok(errors > 0, 'requests that are refused do not lengthen the wait');
});

t.test('asking counts nothing, and is refused as counting would be', async (t) => {
  const limiter = createRateLimiter({ name: 'address', quota: 2, seconds: 60 });
  for (const time of ['first', 'second', 'third']) {
    await limiter.check('a');
    t.pass(`before any: ${time}`);
  }
  await limiter.count('a');
  await limiter.check('a');
  t.match(await limiter.count('a'), { ratelimit: '"address";r=0;t=60' });
  for (const time of ['once', 'and again']) {
    await t.rejects(
      limiter.check('a'),
      {
        name: 'ServiceError',
        kind: 'rate_limited',
        headers: { ratelimit: '"address";r=0;t=60', 'retry-after': '60' },
      },
      time,
    );
  }
  await limiter.check('b');
});

t.test('a quota that was used up is there again in the next window', async (t) => {
  const limiter = createRateLimiter({ name: 'address', quota: 1, seconds: 1 });
  await limiter.count('a');
  await t.rejects(limiter.check('a'), { name: 'ServiceError' });
  await sleep(1100);
  await limiter.check('a');
});

t.test('the number of keys is bounded', async (t) => {
  const limiter = createRateLimiter({ name: 'address', quota: 9, seconds: 60 });
  await limiter.count('first');
  await limiter.count('second');
  for (let i = 0; i < 49_998; i += 1) await limiter.count(`${i}`);
  t.match(await limiter.count('first'), { ratelimit: /r=7;/ }, 'all are kept');
  await limiter.count('one more');
  t.match(await limiter.count('second'), { ratelimit: /r=7;/ });
  t.match(await limiter.count('first'), { ratelimit: /r=8;/ }, 'the oldest window is forgotten');
});

const ADDRESSES: [address: string, ...keys: string[]][] = [
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:cb00:7107', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1:0::/56', '2001:db8:1::/48'],
  ['2001:0DB8:0001:ab02::', '2001:db8:1:ab02::/64', '2001:db8:1:ab00::/56', '2001:db8:1::/48'],
  ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64', '2001:db8:1:0::/56', '2001:db8:1::/48'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64', '2001:db8:1:0::/56', '2001:db8:1::/48'],
  ['2001:db8::1', '2001:db8:0:0::/64', '2001:db8:0:0::/56', '2001:db8:0::/48'],
  ['2001:db8::1:2:0:0:0', '2001:db8:0:1::/64', '2001:db8:0:0::/56', '2001:db8:0::/48'],
  ['::1', '0:0:0:0::/64', '0:0:0:0::/56', '0:0:0::/48'],
  ['1::', '1:0:0:0::/64', '1:0:0:0::/56', '1:0:0::/48'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64', 'fe80:0:0:0::/56', 'fe80:0:0::/48'],
  ['64:ff9b::203.0.113.7', '64:ff9b:0:0::/64', '64:ff9b:0:0::/56', '64:ff9b:0::/48'],
  ['', ''],
  ['unknown', 'unknown'],
];

t.test('the key of the counter of an address', async (t) => {
  for (const [address, ...keys] of ADDRESSES) t.same(addressKeys(address), keys, address);
});

t.test('a /48 has four times the quota of a /64, and no more', async (t) => {
  const limiter = createAddressLimiter({ name: 'address', quota: 3, seconds: 60 });
  const passed = async (address: string, requests: number) => {
    const results = await Promise.allSettled(Array.from({ length: requests }, () => limiter.count(address)));
    return results.filter(({ status }) => status === 'fulfilled').length;
  };
  t.equal(await passed('2001:db8:1:100::1', 9), 3, '/64');
  t.equal(await passed('2001:db8:1:101::1', 2), 2);
  t.equal(await passed('2001:db8:1:102::1', 3), 1, '/56');
  t.equal(await passed('2001:db8:1:200::1', 3), 3);
  t.equal(await passed('2001:db8:1:300::1', 3), 3);
  for (let i = 0; i < 9; i += 1) await t.rejects(limiter.count('2001:db8:1:400::1'), /try again/, '/48');
  await t.rejects(limiter.check('2001:db8:1:400::1'), /try again/);
  await limiter.check('2001:db8:2::1');
  await limiter.refund('2001:db8:1:300::1');
  t.equal(await passed('2001:db8:1:400::1', 3), 1, 'what did not fail does not count');
  t.equal(await passed('192.0.2.1', 9), 3, 'IPv4');
  for (const network of ['300', '301', '400']) await limiter.forget(`2001:db8:1:${network}::1`);
  t.equal(await passed('2001:db8:1:400::1', 9), 3, 'what a wider network refused has not counted here');
});
