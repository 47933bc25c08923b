import { setTimeout as sleep } from 'node:timers/promises';
import { defineCollection } from '@gatehouse/data/collection';
import { createDatabase } from '@gatehouse/data/database';
import type { Migration } from '@gatehouse/data/migrations';
import { until } from '@gatehouse/testing/processes';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';

type Options = Pick<Parameters<typeof createDatabase>[0], 'migrations' | 'migrateAtStart'>;

/** Programs with one database, and what they have logged. */
async function setUp(t: Test) {
  const uri = await testDatabase(t);
  const { logger, text } = recordingLogger();
  const program = (options: Options) => {
    const database = createDatabase({ uri, name: 'test', logger, ...options });
    t.teardown(() => database.stop());
    return database;
  };
  return { program, logged: text };
}

const migration = (version: number, name: string, run: Migration['run'] = async () => {}): Migration => ({
  version,
  name,
  run,
});

t.test('each migration runs once, in order, by one of several replicas, and is recorded', async (t) => {
  const { program } = await setUp(t);
  const ran: string[] = [];
  let active = 0;
  const slow = (name: string) =>
    migration(1, name, async () => {
      t.equal(++active, 1, 'no other migration runs meanwhile');
      await sleep(100);
      ran.push(name);
      active -= 1;
    });
  const migrations = [slow('b'), slow('a')];
  const replicas = [1, 2, 3, 4].map(() => program({ migrations }));
  await Promise.all(replicas.map((replica) => replica.start()));
  t.same(ran, ['b', 'a']);

  await program({ migrations: [...migrations, slow('c')] }).start();
  t.same(ran, ['b', 'a', 'c'], 'the next release applies only what is new');
  const records = (await replicas[0]?.connection.collection('migrations').find().toArray()) ?? [];
  t.same(records.map(({ _id, version }) => [_id, version]).sort(), [
    ['a', 1],
    ['b', 1],
    ['c', 1],
  ]);
  for (const { started_at, applied_at, duration_ms } of records) {
    t.ok(duration_ms >= 90 && applied_at - started_at >= 90, `${duration_ms} ms`);
  }
  t.equal(await replicas[0]?.connection.collection('leases').countDocuments(), 0, 'the lease is released');
});

t.test('a replica that may not migrate is not ready, and says why, until another one has', async (t) => {
  const { program, logged } = await setUp(t);
  const migrations = [migration(1, 'a')];
  const replica = program({ migrations, migrateAtStart: 'off' });
  const started = replica.start();
  await until(() => logged().includes('the database has pending migrations'), 5000);
  t.match(logged(), /"pending":\["a"\]/);
  t.match(await replica.unready(), /migrations .* have not been applied/);
  const job = program({ migrations, migrateAtStart: 'off' });
  await job.migrate();
  await started;
  t.equal(await replica.unready(), undefined);
  t.match(await job.unready(), /cannot be reached|not yet connected/, 'the job has ended');

  const another = program({ migrations: [migration(1, 'b')], migrateAtStart: 'off' });
  const ended = t.rejects(another.start(), /stopped/);
  await until(async () => /migrations/.test((await another.unready()) ?? ''), 5000);
  await another.stop();
  await ended;
});

t.test('the release before starts with a newer database, earlier ones do not', async (t) => {
  const { program } = await setUp(t);
  const first = migration(1, 'a');
  const second = migration(2, 'b');
  const third = migration(3, 'c');
  await program({ migrations: [first, second, third] }).start();
  await program({ migrations: [first, second] }).start();
  const error = { name: 'NewerDatabaseError', message: /has data version 3, .* supports versions up to 2: / };
  const old = program({ migrations: [first] });
  await t.rejects(old.start(), error);
  await t.rejects(old.connection.collection('a').insertOne({ a: 1 }), 'and writes nothing');
  await t.rejects(program({ migrations: [] }).start(), /supports versions up to 1/);
  await program({}).start();
});

t.test(
  'a migration that fails keeps the program from starting, and is tried again by the next',
  async (t) => {
    const { program, logged } = await setUp(t);
    const failing = [migration(1, 'a', () => Promise.reject(new Error('no such field'))), migration(1, 'b')];
    await t.rejects(program({ migrations: failing }).start(), /no such field/);
    t.match(logged(), /"migration":"a".*no such field.*a migration failed/);
    t.notMatch(logged(), /"migration":"b"/);
    await program({ migrations: [migration(1, 'a'), migration(1, 'b')] }).start();
    t.match(logged(), /"migration":"b"/);
  },
);

t.test('documents are converted in batches, before a unique index is created that needs it', async (t) => {
  const { program } = await setUp(t);
  const { connection, ...before } = program({});
  await before.start();
  const COUNT = 1203;
  const documents = Array.from({ length: COUNT }, (_, i) => ({ _id: `x${String(i).padStart(5, '0')}` }));
  await connection.collection<{ _id: string }>('things').insertMany(documents);
  const seen: string[] = [];
  const numbered = migration(1, 'number', ({ convertEach }) =>
    convertEach('things', ({ _id }) => {
      seen.push(_id);
      return _id === 'x00007'
        ? []
        : [{ updateOne: { filter: { _id }, update: { $set: { number: seen.length } } } }];
    }),
  );
  const after = program({ migrations: [numbered] });
  const things = defineCollection(after.connection, 'things', [
    { fields: { number: 1 }, options: { name: 'number', unique: true } },
  ]);
  await after.start();
  t.same(
    seen,
    documents.map(({ _id }) => _id),
  );
  t.equal(await things.countDocuments({ number: { $gt: 0 } }), COUNT - 1);
  t.ok((await things.indexes()).some(({ name }) => name === 'number'));
});
