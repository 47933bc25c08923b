import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnNode, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { setUp } from './import-set-up.ts';
import { writeExports } from './large-exports.ts';

t.setTimeout(300_000);

const MAIN = new URL('../../src/import/main.ts', import.meta.url).pathname;
const { mongodbUri, users, collection, store } = await setUp(t);
const idsIn = () => collection.find({}, { projection: { _id: 1 } }).toArray();
const spawned = (args: string[]) => spawnNode([MAIN, ...args], { USERS_MONGODB_URI: mongodbUri });

t.test('an import that is killed is completed by the next one', async (t) => {
  const exports = await writeExports(t.testdir(), 8000);
  for (const { from, args, accounts } of exports) {
    const before = (await idsIn()).length;
    const killed = spawned(args);
    await until(async () => (await idsIn()).length > before + 400, 60_000);
    killed.child.kill('SIGKILL');
    await killed.ended;
    const { child, ended, output } = spawned(args);
    await ended;
    t.equal(child.exitCode, 0, output());
    const [, created = '', known = ''] = / (\S+) created, (\S+) already there/.exec(output()) ?? [];
    t.comment(`${from}: ${known} were there after it was killed, ${created} were created then`);
    t.not(created, '0');
    t.not(known, '0');
    t.equal((await idsIn()).length - before, accounts.length);
    // The first and last, and those at the ends of batches.
    for (const at of [0, 499, 500, 999, 1000, accounts.length - 1]) {
      const { username, kind } = accounts[at] ?? {};
      const found = await collection.findOne({ email: { $regex: `^${username}@` } });
      t.match(
        await users.checkPassword(found?.username, kind?.password ?? ''),
        { id: found?._id },
        kind?.name ?? '',
      );
      t.match((await store.passwordHashOf(String(found?._id))) ?? '', /^\$argon2id\$v=19\$m=64,/);
    }
  }
});

t.test('100 MB are read in constant memory', async (t) => {
  const path = join(t.testdir(), 'realm.json');
  const file = createWriteStream(path);
  file.write('{"users":[');
  const attributes = { long: ['x'.repeat(100_000)] };
  for (let i = 0; i < 1000; i += 1) {
    const text = JSON.stringify({ username: `large${i}`, attributes });
    if (!file.write(`${i === 0 ? '' : ','}${text}`)) await once(file, 'drain');
  }
  file.end(']}');
  await once(file, 'close');
  const { child, ended, output } = spawned(['--from', 'keycloak', path]);
  let megabytes = 0;
  const timer = setInterval(() => {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    megabytes = Math.max(megabytes, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  }, 20);
  await ended;
  clearInterval(timer);
  t.match(output(), '1,000 accounts: 1,000 created');
  t.ok(megabytes > 0 && megabytes < 300, `${megabytes.toFixed(0)} MB`);
});
