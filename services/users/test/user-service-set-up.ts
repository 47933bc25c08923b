import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { newId } from '@gatehouse/core/ids';
import { createRateLimitStore } from '@gatehouse/data/rate-limit-store';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { createPasswords } from '../src/passwords.ts';
import { createUserStore } from '../src/store/user-store.ts';
import type { AccountChanged, NewUser } from '../src/user.ts';
import { createUserService } from '../src/user-service.ts';

export const PASSWORD = 'correct horse';

/** The use cases over a database of their own, with passwords that are cheap to hash. */
export async function setUp(t: { teardown(fn: () => unknown): void }) {
  const { store, connection } = await startTestDatabase(t, {
    define: (connection) => ({
      users: createUserStore(connection),
      counters: createRateLimitStore(connection),
    }),
  });
  const limiter = (name: string, quota: number, seconds: number) =>
    createRateLimiter({ name, quota, seconds }, store.counters);
  const announced: AccountChanged[] = [];
  const options = {
    store: store.users,
    passwords: createPasswords({ concurrency: 1, memoryKiB: 64 }),
    publishAccountChange: async (event: AccountChanged) => void announced.push(event),
    failuresPerSource: limiter('failuresPerSource', 10, 300),
    failuresPerUser: limiter('failuresPerUser', 30, 300),
    failuresInARow: limiter('failuresInARow', 100, 86_400),
    takenPerUser: limiter('takenPerUser', 10, 3600),
  };
  const users = createUserService(options);
  return {
    ...{ users, options, connection, limiter },
    created(over: Partial<NewUser> = {}) {
      const username = newId('x');
      return users.create({ username, email: `${username}@example.org`, password: PASSWORD, ...over });
    },
    /** The published changes of this user since the last call. */
    newsOf(id: string): AccountChanged[] {
      const news = announced.filter(({ userId }) => userId === id);
      for (const event of news) announced.splice(announced.indexOf(event), 1);
      return news;
    },
  };
}

/** What a promise is rejected with. */
export function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no failure',
    (error: unknown) => error,
  );
}
