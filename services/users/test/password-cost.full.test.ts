import { createLogger } from '@gatehouse/kit/logger';
import { createDatabase } from '@gatehouse/mongo/database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { verify } from '@node-rs/argon2';
import t from 'tap';
import { createAttempts } from '../src/attempts.ts';
import { createPasswords } from '../src/passwords.ts';
import { createUserStore } from '../src/user-store.ts';
import { createUsers } from '../src/users.ts';

const WARM_UP = 30;
const ROUNDS = 61;

// By itself, as the long tests are run: beside another test it would measure that.
t.test('a password check costs little more than its hash', async (t) => {
  const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
  const database = createDatabase({ uri: await testDatabase(t), name: 'users', logger });
  const store = createUserStore(database.connection);
  await database.start();
  t.teardown(() => database.stop());
  const users = createUsers({
    store,
    passwords: createPasswords({ concurrency: 1 }),
    announce: async () => {},
    guesses: createAttempts({ most: 10, seconds: 300 }),
  });
  const draft = { username: 'ann', email: 'ann@example.org', password: 'correct horse' };
  const { id } = await users.create(draft);
  const hash = (await store.passwordHashOf(id)) ?? '';

  const times = { bare: [] as number[], check: [] as number[] };
  // In turns, so that whatever else the machine does falls on both alike.
  for (let i = -WARM_UP; i < ROUNDS; i += 1) {
    const begin = performance.now();
    await verify(hash, 'wrong horse');
    const middle = performance.now();
    t.equal(await users.checkPassword('ann', 'wrong horse'), undefined);
    // The first rounds warm up.
    if (i < 0) continue;
    times.bare.push(middle - begin);
    times.check.push(performance.now() - middle);
  }
  const median = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
  const [bare, check] = [median(times.bare), median(times.check)];
  t.comment(`argon2 ${bare.toFixed(2)} ms, a check ${check.toFixed(2)} ms`);
  t.ok(check < 1.2 * bare + 3, 'one hash, and one query of a few milliseconds at most');
});
