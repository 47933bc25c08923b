import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { importCommand } from '../../src/import/import-command.ts';
import type { Outcome } from '../../src/import/import-users.ts';
import { createPasswords } from '../../src/passwords.ts';
import { createUserStore } from '../../src/store/user-store.ts';
import { createUserService } from '../../src/user-service.ts';

export const FIXTURES = new URL('./fixtures/', import.meta.url).pathname;

/** A database of users, the command that imports into it, and the use cases that let people sign in. */
export async function setUp(t: { teardown(fn: () => unknown): void }) {
  const mongodbUri = await testDatabase(t);
  const { store, connection } = await startTestDatabase(t, { uri: mongodbUri, define: createUserStore });
  const limiter = createRateLimiter({ name: 'failures', quota: 1000, seconds: 60 });
  const users = createUserService({
    store,
    passwords: createPasswords({ concurrency: 2, memoryKiB: 64 }),
    publishAccountChange: async () => {},
    ...{
      failuresPerSource: limiter,
      failuresPerUser: limiter,
      failuresInARow: limiter,
      takenPerUser: limiter,
    },
  });

  /** Runs the command with these lines as its standard input. */
  async function run(args: string[], lines: (object | string)[] = []) {
    let [output, log] = ['', ''];
    const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
    const status = await importCommand({
      ...{ args, mongodbUri, migrateAtStart: 'on' },
      input: (async function* () {
        yield Buffer.from(text);
      })(),
      async write(text) {
        output += text;
      },
      log(text) {
        log += text;
      },
    });
    const placeOf = ({ line, index }: Outcome) => line ?? index ?? 0;
    const outcomes = output
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Outcome)
      .sort((a, b) => placeOf(a) - placeOf(b));
    return { status, log, output, outcomes };
  }

  const collection = connection.collection('users');
  return {
    ...{ mongodbUri, store, users, run, collection },
    ndjson: (...lines: (object | string)[]) => run(['--from', 'ndjson', '-'], lines),
    stored: (id: string) => collection.findOne({ _id: id as never }),
  };
}
