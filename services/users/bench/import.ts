// `npm run bench:import [-- ACCOUNTS [SAMPLES]]`: imports so many accounts (100,000 unless told) from exports of each program, of which
// one is killed in the middle and repeated, and then signs in as some of each kind of hash.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { createDatabase } from '@gatehouse/data/database';
import { spawnNode, until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import { createPasswords } from '../src/passwords.ts';
import { createUserStore } from '../src/store/user-store.ts';
import { createUserService } from '../src/user-service.ts';
import { type LargeExport, writeExports } from '../test/import/large-exports.ts';

const total = Number(process.argv[2] ?? 100_000);
const samples = Number(process.argv[3] ?? 20);
const MAIN = new URL('../src/import/main.ts', import.meta.url).pathname;
const print = (line: string) => process.stdout.write(`${line}\n`);
const rate = (count: number, ms: number) => Math.round((count / ms) * 1000).toLocaleString('en');

const directory = mkdtempSync(join(tmpdir(), 'import-bench-'));
const mongo = await startTestMongo();
const uri = mongo.uri;
const database = createDatabase({ uri, name: 'users', logger });
const store = createUserStore(database.connection);
await database.start();
const stored = () => database.connection.collection('users').estimatedDocumentCount();
const spawned = ({ args }: LargeExport) => spawnNode([MAIN, ...args], { USERS_MONGODB_URI: uri });
try {
  const exports = await writeExports(directory, total);
  const begin = performance.now();
  for (const [i, it] of exports.entries()) {
    const before = await stored();
    const begun = performance.now();
    if (i === 1) {
      const { child, ended } = spawned(it);
      await until(async () => (await stored()) >= before + it.accounts.length / 2, 600_000);
      child.kill('SIGKILL');
      await ended;
      print(`${it.from}: killed after ${(await stored()) - before} accounts`);
    }
    const { ended, output } = spawned(it);
    await ended;
    const ms = performance.now() - begun;
    const mb = (statSync(it.args.at(-1) ?? '').size / 1e6).toFixed(0);
    print(
      `${it.from}: ${rate(it.accounts.length, ms)} a second, ${mb} MB: ${output().trim().split('\n').at(-1)}`,
    );
  }
  print(`together: ${rate(await stored(), performance.now() - begin)} accounts a second`);
  for (const it of exports) {
    const begun = performance.now();
    const { ended, output } = spawned(it);
    await ended;
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    print(`${it.from} again, in ${seconds} s: ${output().trim().split('\n').at(-1)}`);
  }
  await signIn(exports);
} finally {
  await database.stop();
  await mongo.stop();
  rmSync(directory, { recursive: true, force: true });
}

/** Signs in as accounts of each kind, from all over the file, and checks that their hashes are our own after that. */
async function signIn(exports: readonly LargeExport[]): Promise<void> {
  const limiter = createRateLimiter({ name: 'failures', quota: 1000, seconds: 60 });
  const users = createUserService({
    store,
    passwords: createPasswords({ concurrency: 2 }),
    publishAccountChange: async () => {},
    ...{
      failuresPerSource: limiter,
      failuresPerUser: limiter,
      failuresInARow: limiter,
      takenPerUser: limiter,
    },
  });
  let [count, wrong] = [0, 0];
  const ofKind = Map.groupBy(
    exports.flatMap(({ accounts }) => accounts),
    ({ kind }) => kind.name,
  );
  for (const [name, accounts] of ofKind) {
    const step = Math.max(1, Math.floor(accounts.length / samples));
    for (const { username, kind } of accounts.filter((_, i) => i % step === 0)) {
      const login = kind.name === 'Firebase scrypt' ? await loginOf(username) : username;
      const isRefused = (await users.checkPassword(login, `${kind.password} `)) === undefined;
      const user = await users.checkPassword(login, kind.password);
      const hash = user && (await store.passwordHashOf(user.id));
      count += 1;
      if (!isRefused || !hash?.startsWith('$argon2id$v=19$m=19456,t=2,p=1$')) {
        wrong += 1;
        print(`${name}: ${login} ${user === undefined ? 'cannot sign in' : 'has another hash'}`);
      }
    }
  }
  print(`${count} accounts of ${ofKind.size} kinds have signed in, and are argon2id now; ${wrong} have not`);
  if (wrong > 0) process.exitCode = 1;
}

/** The username of an account whose address begins so, as Firebase has none. */
async function loginOf(name: string): Promise<string> {
  const found = await database.connection.collection('users').findOne({ email: { $regex: `^${name}@` } });
  return String(found?.username);
}
