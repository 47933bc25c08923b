import { createIdempotencyStore, IDEMPOTENCY_KEYS } from '@gatehouse/data/idempotency-store';
import { createSweeper } from '@gatehouse/data/sweeper';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import t, { type Test } from 'tap';

const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

async function setUp(t: Test) {
  const { store, connection } = await startTestDatabase(t, { define: createIdempotencyStore });
  const keys = connection.collection<{ _id: string }>(IDEMPOTENCY_KEYS);
  /** Claims `id` for a holder, at a time in milliseconds after the start. */
  const claim = (holder: string, at = 0, more: { id?: string; fingerprint?: string } = {}) =>
    store.claim({
      id: 'id',
      fingerprint: 'body',
      holder,
      reservedId: `reserved by ${holder}`,
      now: new Date(START + at),
      leaseUntil: new Date(START + at + MINUTE),
      expiresAt: new Date(START + at + DAY),
      ...more,
    });
  const complete = (holder: string, response: string, at = 0) =>
    store.complete({ id: 'id', holder, response, expiresAt: new Date(START + at + DAY) });
  const release = (holder: string, forget: boolean, at = 0) =>
    store.release({ id: 'id', holder, now: new Date(START + at), forget });
  return { connection, keys, claim, complete, release };
}

const fresh = (holder: string) => ({ state: 'claimed', reservedId: `reserved by ${holder}`, isRetry: false });
const takenOver = (holder: string) => ({
  state: 'claimed',
  reservedId: `reserved by ${holder}`,
  isRetry: true,
});

t.test('is held by one attempt, then completed', async (t) => {
  const { claim, complete } = await setUp(t);
  t.strictSame(await claim('a'), fresh('a'));
  t.strictSame(await claim('b'), { state: 'running' });
  t.strictSame(await claim('c', 0, { fingerprint: 'other' }), { state: 'reused' });
  t.strictSame(await claim('d', 0, { id: 'another' }), fresh('d'));
  await complete('a', 'answer');
  t.strictSame(await claim('b'), { state: 'done', response: 'answer' });
  t.strictSame(
    await claim('b', 2 * MINUTE),
    { state: 'done', response: 'answer' },
    'the lease is of no interest',
  );
  t.strictSame(await claim('c', 0, { fingerprint: 'other' }), { state: 'reused' });
});

t.test('is taken over after the lease, with the id that was reserved first', async (t) => {
  const { claim, complete, release } = await setUp(t);
  await claim('a');
  t.strictSame(await claim('b', MINUTE - 1), { state: 'running' });
  t.strictSame(await claim('c', MINUTE, { fingerprint: 'other' }), { state: 'reused' });
  t.strictSame(await claim('b', MINUTE), takenOver('a'));
  t.strictSame(await claim('c', 2 * MINUTE - 1), { state: 'running' }, 'a lease of its own');
  await complete('a', 'too late', MINUTE);
  await release('a', true, MINUTE);
  await release('a', false, MINUTE);
  t.strictSame(await claim('c', 2 * MINUTE - 1), { state: 'running' }, 'the first has no say any more');
  t.strictSame(await claim('c', 2 * MINUTE), takenOver('a'), 'and once more');
  await complete('c', 'answer', 2 * MINUTE);
  t.strictSame(await claim('d', 2 * MINUTE), { state: 'done', response: 'answer' });
});

t.test('is released', async (t) => {
  const { claim, release } = await setUp(t);
  await claim('a');
  await release('a', true);
  t.strictSame(await claim('b', 0, { fingerprint: 'other' }), fresh('b'), 'forgotten');
  await release('b', false);
  t.strictSame(await claim('c', 0), { state: 'reused' }, 'not forgotten');
  t.strictSame(await claim('c', 0, { fingerprint: 'other' }), takenOver('b'), 'at once');
});

t.test('expires after a day, even before it is swept', async (t) => {
  const { claim, complete, keys } = await setUp(t);
  await claim('a');
  await complete('a', 'answer', MINUTE);
  t.match(await claim('b', DAY), { state: 'done' }, 'a day after the answer');
  t.strictSame(await claim('b', DAY + MINUTE, { fingerprint: 'other' }), fresh('b'));
  t.strictSame(await claim('c', DAY + MINUTE, { fingerprint: 'other' }), { state: 'running' });
  t.equal(await keys.countDocuments(), 1);
  t.notMatch(await keys.findOne(), { response: String }, 'the old answer is gone');
});

t.test('one of many concurrent claims succeeds', async (t) => {
  const { claim } = await setUp(t);
  const at = async (time: number) => {
    const claims = await Promise.all(Array.from({ length: 50 }, (_, i) => claim(`${time} ${i}`, time)));
    const states = claims.map(({ state }) => state).sort();
    t.strictSame(states, ['claimed', ...Array(49).fill('running')], String(time));
    return claims.find(({ state }) => state === 'claimed');
  };
  const first = await at(0);
  t.match(first, { isRetry: false });
  t.strictSame(await at(MINUTE), { ...first, isRetry: true }, 'taken over');
  t.match(await at(2 * DAY), { isRetry: false }, 'expired');
});

t.test('expired keys are swept, by an index', async (t) => {
  const { connection, claim, keys } = await setUp(t);
  await claim('a');
  const indexes = await keys.indexes();
  t.match(
    indexes.map(({ key }) => key),
    [{ _id: 1 }, { expires_at: 1 }],
  );
  t.notOk(indexes.some((index) => 'expireAfterSeconds' in index));
  const sweeper = createSweeper(connection, [IDEMPOTENCY_KEYS], { logger, everySeconds: 0.01 });
  t.teardown(() => sweeper.stop());
  sweeper.start();
  await until(async () => (await keys.countDocuments()) === 0, 5000);
  t.equal(await keys.countDocuments(), 0);
});
