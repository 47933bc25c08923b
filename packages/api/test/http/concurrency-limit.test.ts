import { setTimeout as sleep } from 'node:timers/promises';
import { createConcurrencyLimit } from '@gatehouse/api/http/concurrency-limit';
import type { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import t from 'tap';

const person = (id: string, clientId = 'app_1') => ({ person: { id }, clientId }) as Caller;

/** Work that goes on until it is ended. */
function createWork() {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  let hasBegun = false;
  const run = () => {
    hasBegun = true;
    return promise;
  };
  return { run, end, hasBegun: () => hasBegun };
}

t.test(
  'a caller has two in flight, through whatever application; another caller is not affected',
  async (t) => {
    const limit = createConcurrencyLimit();
    const works = [createWork(), createWork(), createWork(), createWork()] as const;
    const results = works.map(({ run }, i) => limit.run(person(i < 3 ? 'ann' : 'bob', `app_${i}`), run));
    await sleep(20);
    t.strictSame(
      works.map(({ hasBegun }) => hasBegun()),
      [true, true, false, true],
    );
    works[0].end();
    await sleep(20);
    t.ok(works[2].hasBegun(), 'the next in line');
    for (const { end } of works) end();
    await Promise.all(results);
  },
);

t.test('a request that waits too long is refused with Retry-After', async (t) => {
  const limit = createConcurrencyLimit();
  const works = [createWork(), createWork(), createWork()] as const;
  const [first, second, third] = works.map(({ run }) => limit.run(person('ann'), run));
  const refused = (await third?.catch((error: unknown) => error)) as ServiceError;
  t.match(refused, { kind: 'rate_limited', headers: { 'retry-after': '1' } });
  for (const { end } of works) end();
  await Promise.all([first, second]);
  t.notOk(works[2].hasBegun());
});

t.test('all callers together have four in flight', async (t) => {
  const limit = createConcurrencyLimit();
  const works = Array.from({ length: 5 }, createWork);
  const results = works.map(({ run }, i) => limit.run(person(`usr_${i}`), run));
  const refused = (await results[4]?.catch((error: unknown) => error)) as ServiceError;
  t.match(refused, { kind: 'unavailable', headers: { 'retry-after': '1' } });
  for (const { end } of works) end();
  await Promise.all(results.slice(0, 4));
  await limit.run(person('usr_9'), async () => {});
});

t.test('after two seconds of long work the caller’s next waits', async (t) => {
  const limit = createConcurrencyLimit();
  const page = Array.from({ length: 6 }, () => limit.run(person('ann'), () => sleep(250)));
  const begin = performance.now();
  await Promise.all(page);
  await limit.run(person('ann'), async () => {});
  t.ok(performance.now() - begin < 1200, 'a page that asks for six does not');
  await Promise.all([0, 1].map(() => limit.run(person('ann'), () => sleep(1200))));
  const endOfWork = performance.now();
  await limit.run(person('bob'), async () => {});
  t.ok(performance.now() - endOfWork < 200, 'others need not wait');
  await limit.run(person('ann'), async () => {});
  t.ok(performance.now() - endOfWork > 400, 'the rest of the caller');
});

t.test('however much one caller sends, others find a place to wait', async (t) => {
  const limit = createConcurrencyLimit();
  const work = createWork();
  const sent = Array.from({ length: 300 }, () => limit.run(person('ann'), work.run).catch(() => 'refused'));
  const others = Array.from({ length: 3 }, () => limit.run(person('bob'), () => sleep(20, 'done')));
  t.strictSame(await Promise.all(others), ['done', 'done', 'done']);
  work.end();
  const refused = (await Promise.all(sent)).filter((result) => result === 'refused');
  t.equal(refused.length, 300 - 22, 'two in flight, twenty waiting');
});
