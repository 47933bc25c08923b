import { setTimeout as sleep } from 'node:timers/promises';
import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { createRateLimitStore, RATE_LIMITS } from '@gatehouse/data/rate-limit-store';
import { createSweeper } from '@gatehouse/data/sweeper';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';

const uri = await testDatabase(t);

/** A replica with a connection of its own. */
async function replica() {
  const { store, connection } = await startTestDatabase(t, { uri, define: createRateLimitStore });
  return { store, connection: connection };
}
const replicas = [await replica(), await replica()] as const;
/** A limiter at each replica. */
function limitersFor(name: string, quota: number, seconds = 60) {
  const [a, b] = replicas;
  const policy = { name, quota, seconds };
  return [createRateLimiter(policy, a.store), createRateLimiter(policy, b.store)] as const;
}

t.test('two replicas count together', async (t) => {
  const [a, b] = limitersFor('together', 3);
  t.match(await a.count('x'), { ratelimit: '"together";r=2;t=60' });
  t.match(await b.count('x'), { ratelimit: '"together";r=1;t=60' });
  t.match(await a.count('y'), { ratelimit: '"together";r=2;t=60' }, 'another key');
  await b.check('x');
  t.match(await a.count('x'), { ratelimit: '"together";r=0;t=60' });
  const refused = { name: 'ServiceError', headers: { 'retry-after': '60' } };
  for (const limiter of [a, b]) {
    await t.rejects(limiter.check('x'), refused);
    await t.rejects(limiter.count('x'), refused);
  }
  const [other] = limitersFor('other', 3);
  t.match(await other.count('x'), { ratelimit: '"other";r=2;t=60' }, 'another limit');
});

t.test('many at once are counted exactly', async (t) => {
  const limiters = limitersFor('at once', 10);
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, (_, i) => limiters[i % 2 ? 1 : 0].count('x')),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 10);
});

t.test('a key that is used up does not reach the database', async (t) => {
  const limiters = limitersFor('used up', 1);
  for (let i = 0; i < 9; i += 1) await limiters[0].count('x').catch(() => {});
  t.match(await replicas[0].store.find('used up x'), { count: 1 }, 'and what is refused is not counted');
  await limiters[1].forget('x');
  t.equal(await replicas[0].store.find('used up x'), undefined);
  t.match(await limiters[1].count('x'), { ratelimit: /r=0/ }, 'open again for who has forgotten it');
});

t.test('when the window has passed there is a new quota', async (t) => {
  const [limiter] = limitersFor('window', 1, 1);
  await limiter.count('x');
  await t.rejects(limiter.count('x'), { name: 'ServiceError' });
  await sleep(1100);
  await limiter.check('x');
  t.match(await limiter.count('x'), { ratelimit: '"window";r=0;t=1' });
});

t.test('ended counters are swept', async (t) => {
  const [{ connection, store }] = replicas;
  await store.count('old', 0);
  const sweeper = createSweeper(connection, [RATE_LIMITS], { logger, everySeconds: 0.05 });
  t.teardown(() => sweeper.stop());
  sweeper.start();
  const counters = connection.collection<{ _id: string }>(RATE_LIMITS);
  await until(async () => (await counters.findOne({ _id: 'old' })) === null, 5000);
  t.not(await counters.findOne({ _id: 'together x' }), null);
});
