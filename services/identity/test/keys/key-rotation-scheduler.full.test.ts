import { setTimeout as sleep } from 'node:timers/promises';
import { createSealer } from '@gatehouse/core/sealing';
import { until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { rotateSigningKeys } from '../../src/keys/key-rotation.ts';
import {
  createKeyRotationScheduler,
  type KeyRotationSchedulerOptions,
} from '../../src/keys/key-rotation-scheduler.ts';
import { loadSigningKeys, type SigningKeySet } from '../../src/keys/signing-keys.ts';
import { setUpKeys } from './set-up.ts';

const DAY = 24 * 3600;

async function setUp(t: Test) {
  const keys = await setUpKeys(t);
  const scheduler = (more: Partial<KeyRotationSchedulerOptions> = {}) => {
    const changes: SigningKeySet[] = [];
    const dropped: string[] = [];
    const scheduler = createKeyRotationScheduler({
      store: keys.store,
      sealer: keys.sealer,
      rotateEveryDays: 90,
      previousForSeconds: 3600,
      checkEverySeconds: 0.03,
      onChange: (set) => void changes.push(set),
      onDropped: (kid) => void dropped.push(kid),
      logger: keys.logger,
      ...more,
    });
    t.teardown(() => scheduler.stop());
    return { ...scheduler, changes, dropped };
  };
  return { ...keys, scheduler };
}

t.test('loads at the start, and changes nothing that is not due', async (t) => {
  const { scheduler, store, lines } = await setUp(t);
  const one = scheduler();
  t.throws(() => one.current(), /not loaded yet/);
  await one.start();
  t.equal(one.changes.length, 1);
  t.equal(one.current(), one.changes[0]);
  const before = await store.all();
  await sleep(150);
  t.same(await store.all(), before);
  t.equal(one.changes.length, 1);
  t.strictSame(lines, []);
});

t.test('the metrics say how old the keys are, and when they are due', async (t) => {
  const { scheduler, passSeconds } = await setUp(t);
  const fresh = scheduler();
  const read = () =>
    Object.fromEntries(
      fresh.metrics().map(({ name, samples }) => [name, samples.map(({ value }) => Math.round(value / DAY))]),
    );
  const [age, rotation] = ['gatehouse_signing_key_age_seconds', 'gatehouse_signing_key_rotation_seconds'];
  t.same(read(), { [age]: [], [rotation]: [] }, 'before they are loaded');
  await fresh.start();
  t.same(read(), { [age]: [0, 0], [rotation]: [90, 90] });
  await passSeconds(50 * DAY);
  await until(() => read()[age]?.[0] === 50, 5000);
  t.same(read(), { [age]: [50, 50], [rotation]: [40, 40] });
  t.same(
    fresh.metrics()[0]?.samples.map(({ labels }) => labels),
    [{ algorithm: 'ES256' }, { algorithm: 'RS256' }],
  );
});

t.test('notices what others rotate', async (t) => {
  const { scheduler, store, sealer } = await setUp(t);
  const replicas = [scheduler(), scheduler()];
  await Promise.all(replicas.map((one) => one.start()));
  const { rotated } = await rotateSigningKeys(store, sealer, { algorithm: 'ES256' });
  await until(() => replicas.every((one) => one.current().currentKid.ES256 === rotated[0]?.current), 5000);
  for (const one of replicas) {
    t.equal(one.changes.length, 2);
    t.same(one.dropped, []);
    t.ok(
      one.current().keys.some(({ kid }) => kid === rotated[0]?.retired),
      'the previous one stays published',
    );
  }
});

t.test('many replicas rotate once when it is due', async (t) => {
  const { scheduler, store, sealer, kids, passSeconds, lines } = await setUp(t);
  await loadSigningKeys(store, sealer);
  const before = await kids();
  const young = scheduler();
  await passSeconds(89 * DAY);
  await young.start();
  await sleep(100);
  t.equal((await kids()).current, before.current);
  await young.stop();
  await passSeconds(2 * DAY);
  const replicas = Array.from({ length: 5 }, () => scheduler());
  await Promise.all(replicas.map((one) => one.start()));
  await until(() => replicas.every((one) => one.current().currentKid.ES256 === before.next), 5000);
  await sleep(150);
  t.match(await kids(), { current: before.next, previous: [before.current] });
  t.equal((await kids('RS256')).previous.length, 1);
  t.same(
    lines.map(({ level, msg }) => [level, msg]),
    Array(2).fill(['info', 'a signing key was rotated on schedule']),
  );
});

t.test('a scheduled rotation waits until the next key has been published for long enough', async (t) => {
  const { scheduler, store, sealer, kids, passSeconds } = await setUp(t);
  await passSeconds(0);
  await rotateSigningKeys(store, sealer);
  const before = await kids();
  // Due after a second, and again and again.
  const one = scheduler({ rotateEveryDays: 1 / DAY });
  await passSeconds(14 * 60);
  await one.start();
  await sleep(150);
  t.equal((await kids()).current, before.current);
  await passSeconds(61);
  await until(() => one.current().currentKid.ES256 === before.next, 5000);
});

t.test('a previous key is published until what it has signed has expired', async (t) => {
  const { scheduler, store, sealer, kids, passSeconds } = await setUp(t);
  await rotateSigningKeys(store, sealer);
  await rotateSigningKeys(store, sealer, { algorithm: 'ES256', compromised: true });
  await passSeconds(3000);
  await rotateSigningKeys(store, sealer);
  const one = scheduler({ previousForSeconds: 3600 });
  await one.start();
  await passSeconds(500);
  await sleep(150);
  t.equal((await kids('RS256')).previous.length, 2);
  t.equal((await kids('ES256')).dropped.length, 3);
  await passSeconds(200);
  await until(() => one.current().keys.filter(({ alg }) => alg === 'RS256').length === 3, 5000);
  t.equal((await kids('RS256')).previous.length, 1, 'the younger one');
  await until(async () => (await kids('ES256')).dropped.length === 0, 5000);
  t.equal(one.dropped.length, 3, 'what has expired is no compromise');
});

t.test('every replica learns of a compromised key once, also after a restart', async (t) => {
  const { scheduler, store, sealer, kids } = await setUp(t);
  const replicas = [scheduler(), scheduler()];
  await Promise.all(replicas.map((one) => one.start()));
  const before = await kids();
  await rotateSigningKeys(store, sealer, { algorithm: 'ES256', compromised: true });
  await until(() => replicas.every(({ dropped }) => dropped.length === 2), 5000);
  await sleep(100);
  const { current } = await kids();
  for (const one of replicas) {
    t.same(one.dropped, [before.current, before.next]);
    t.equal(one.current().currentKid.ES256, current);
    t.notOk(one.current().keys.some(({ kid = '' }) => one.dropped.includes(kid)));
  }
  const later = scheduler();
  await later.start();
  await until(() => later.dropped.length === 2, 5000);
  t.same(later.dropped, [before.current, before.next]);
});

t.test(
  'what the service fails to take up it is given again; a failing one does not hold up the other',
  async (t) => {
    const { scheduler, store, sealer, lines } = await setUp(t);
    let changes = 0;
    let drops = 0;
    const one = scheduler({
      onChange: () => {
        changes += 1;
        if (changes === 2 || changes === 3) throw new Error('no provider');
      },
      onDropped: async () => {
        drops += 1;
        if (drops === 1) throw new Error('no database');
      },
    });
    await one.start();
    const before = one.current();
    const { rotated } = await rotateSigningKeys(store, sealer, { algorithm: 'ES256', compromised: true });
    await until(() => drops >= 1, 5000);
    t.equal(one.current(), before, 'until it is in use');
    await until(() => one.current().currentKid.ES256 === rotated[0]?.current, 5000);
    await until(() => drops === 3, 5000);
    t.equal(changes, 4);
    t.match(lines, [{ level: 'warn', msg: /could not be checked/ }]);
  },
);

t.test('a failing database is logged once, and does not end the watch', async (t) => {
  const { scheduler, store, sealer, lines } = await setUp(t);
  let away = false;
  const one = scheduler({
    store: {
      ...store,
      versions: () => (away ? Promise.reject(new Error('away')) : store.versions()),
    },
  });
  await one.start();
  away = true;
  await until(() => lines.length > 0, 5000);
  await sleep(150);
  t.match(lines, [{ level: 'warn', err: { message: 'away' } }]);
  t.equal(lines.length, 1);
  away = false;
  const { rotated } = await rotateSigningKeys(store, sealer, { algorithm: 'ES256' });
  await until(() => one.current().currentKid.ES256 === rotated[0]?.current, 5000);
});

t.test('another master key: the start is refused', async (t) => {
  const { scheduler, store, sealer } = await setUp(t);
  await loadSigningKeys(store, sealer);
  const one = scheduler({ sealer: createSealer([Buffer.alloc(32)]) });
  await t.rejects(one.start(), /sealed under another master key/);
  t.same(one.changes, []);
});

t.test('a first onChange that fails is the failure of the start; stop ends the watch', async (t) => {
  const { scheduler, store, sealer } = await setUp(t);
  const failing = scheduler({
    onChange: () => {
      throw new Error('no provider');
    },
  });
  await t.rejects(failing.start(), /no provider/);
  await failing.stop();
  const one = scheduler();
  await one.start();
  await one.stop();
  await rotateSigningKeys(store, sealer);
  await sleep(100);
  t.equal(one.changes.length, 1);
});
