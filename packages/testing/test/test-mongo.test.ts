import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { testDatabase, testMongoUri } from '../src/test-mongo.ts';

const USES_MONGO = join(import.meta.dirname, 'fixtures/packages/sample/test/uses-mongo.test.ts');

const URIS: [uri: string, before: string, after: string][] = [
  [
    'mongodb://%2Ftmp%2Fx.sock/?directConnection=true',
    'mongodb://%2Ftmp%2Fx.sock/',
    '?directConnection=true',
  ],
  ['mongodb://one:1,two:2/other?replicaSet=a', 'mongodb://one:1,two:2/', '?replicaSet=a'],
  ['mongodb://127.0.0.1:27017', 'mongodb://127.0.0.1:27017/', ''],
  ['mongodb+srv://user:word@host/', 'mongodb+srv://user:word@host/', ''],
];

for (const [uri, before, after] of URIS) {
  t.test(`a database at ${uri}`, async (t) => {
    const saved = process.env.GATEHOUSE_TEST_MONGODB_URI;
    t.teardown(() => {
      process.env.GATEHOUSE_TEST_MONGODB_URI = saved;
    });
    process.env.GATEHOUSE_TEST_MONGODB_URI = uri;
    t.equal(await testMongoUri(t), uri);
    const database = await testDatabase(t);
    t.ok(database.startsWith(before) && database.endsWith(after), database);
    const name = database.slice(before.length, database.length - after.length);
    // MongoDB allows 38 bytes in some of its hosted offers.
    t.match(name, /^\w{8,37}$/);
    t.not(await testDatabase(t), database);
  });
}

t.test('a file that is run by hand starts its own MongoDB and leaves nothing', async (t) => {
  const TMPDIR = mkdtempSync(join(tmpdir(), 'gh-'));
  t.teardown(() => rmSync(TMPDIR, { recursive: true }));
  const env = { ...process.env, GATEHOUSE_TEST_MONGODB_URI: '', TMPDIR };
  const [status] = await once(spawn(process.execPath, [USES_MONGO], { env, stdio: 'ignore' }), 'exit');
  t.equal(status, 0);
  t.same(readdirSync(TMPDIR), []);
});
