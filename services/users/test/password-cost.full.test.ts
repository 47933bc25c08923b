// Runs alone, as it measures time.
import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { verify } from '@node-rs/argon2';
import t from 'tap';
import { hashOf } from '../src/hashes/hash-notations.ts';
import { createPasswords } from '../src/passwords.ts';
import { createUserStore } from '../src/store/user-store.ts';
import { createUserService } from '../src/user-service.ts';

const WARM_UP = 30;
const ROUNDS = 61;
const PASSWORD = 'correct horse';

const { store, connection } = await startTestDatabase(t, { define: createUserStore });
const limiter = (name: string, quota: number, seconds: number) => createRateLimiter({ name, quota, seconds });
const users = createUserService({
  store,
  passwords: createPasswords({ concurrency: 1 }),
  publishAccountChange: async () => {},
  failuresPerSource: limiter('failuresPerSource', 10, 300),
  failuresPerUser: limiter('failuresPerUser', 30, 300),
  failuresInARow: limiter('failuresInARow', 100, 86_400),
  takenPerUser: limiter('takenPerUser', 10, 3600),
});
const created = (username: string) =>
  users.create({ username, email: `${username}@example.org`, password: PASSWORD });

/** The median time of each, in milliseconds. */
async function mediansOf<K extends string>(
  actions: Record<K, () => Promise<unknown>>,
): Promise<Record<K, number>> {
  const names = Object.keys(actions) as K[];
  const times = new Map<K, number[]>(names.map((name) => [name, []]));
  // In turns, so that whatever else the machine does falls on all alike.
  for (let i = -WARM_UP; i < ROUNDS; i += 1) {
    for (const name of names) {
      const begin = performance.now();
      await actions[name]();
      // The first rounds warm up.
      if (i >= 0) times.get(name)?.push(performance.now() - begin);
    }
  }
  const median = (all: number[] = []) => all.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
  return Object.fromEntries(names.map((name) => [name, median(times.get(name))])) as Record<K, number>;
}

// By themselves, as the long tests are run: beside another test they would measure that.
t.test('a password check costs little more than its hash', async (t) => {
  const { id } = await created('ann');
  const hash = (await store.passwordHashOf(id)) ?? '';
  const { bare, check } = await mediansOf({
    bare: () => verify(hash, 'wrong horse'),
    check: async () => t.equal(await users.checkPassword('ann', 'wrong horse'), undefined),
  });
  t.comment(`argon2 ${bare.toFixed(2)} ms, a check ${check.toFixed(2)} ms`);
  t.ok(check < 1.2 * bare + 3, 'one hash, and one query of a few milliseconds at most');
});

t.test('the same answer after the same time for every kind of user', async (t) => {
  const active = await created('active');
  const inactive = await created('inactive');
  await users.changeStatus(inactive.id, 'inactive');
  const none = await users.create({ username: 'none', email: 'none@example.org' });
  const imported = await users.create({ username: 'imported', email: 'imported@example.org' });
  const cheap = hashOf('{SSHA}TGKsrHe8F6t6o8QlPKxeRv3hjfEgJGSs');
  await connection
    .collection('users')
    .updateOne({ username: 'imported' }, { $set: { password_hash: cheap } });
  const medians = await mediansOf({
    unknown: () => users.checkPassword('nobody-of-this-name', PASSWORD),
    'unknown email': () => users.checkPassword('nobody@example.org', PASSWORD),
    wrong: () => users.checkPassword(active.username, 'wrong horse'),
    inactive: () => users.checkPassword(inactive.username, PASSWORD),
    'a hash of another program': () => users.checkPassword(imported.username, PASSWORD),
    'no password': () => users.checkPassword(none.username, PASSWORD),
    'a login of 10 kB': () => users.checkPassword('ﷺ'.repeat(10_000), PASSWORD),
    'a password of 250 kB': () => users.checkPassword(active.username, 's\u0323\u0307'.repeat(50_000)),
  });
  for (const [name, ms] of Object.entries(medians)) {
    const ratio = ms / medians.wrong;
    t.ok(Math.abs(ratio - 1) < 0.25, `${name}: ${ms.toFixed(2)} ms, ${ratio.toFixed(2)} of a wrong password`);
  }
});
