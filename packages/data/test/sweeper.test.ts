import { createSweeper } from '@gatehouse/data/sweeper';
import { monitored } from '@gatehouse/testing/explain';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger, recordingLogger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';

const BATCH = 500;
const past = () => new Date(Date.now() - 1000);
const future = () => new Date(Date.now() + 3_600_000);

async function setUp(t: Test) {
  const { logger, lines } = recordingLogger();
  const { connection } = await startTestDatabase(t, { uri: monitored(await testDatabase(t)) });
  /** How many documents each deletion was asked to remove. */
  const deletions: number[] = [];
  connection.getClient().on('commandStarted', ({ commandName, command }) => {
    if (commandName === 'delete') deletions.push(command.deletes[0].q._id.$in.length);
  });
  const sweep = (...collections: string[]) => {
    const sweeper = createSweeper(connection, collections, { logger, everySeconds: 0.01 });
    t.teardown(() => sweeper.stop());
    sweeper.start();
    return sweeper;
  };
  const insert = (name: string, documents: Record<string, unknown>[]) =>
    connection.collection<Record<string, unknown>>(name).insertMany(documents);
  const count = (name: string) => connection.collection(name).countDocuments();
  return { connection, lines, deletions, sweep, insert, count };
}

const many = (length: number, expires: () => unknown) =>
  Array.from({ length }, () => ({ expires_at: expires() }));

t.test('removes expired documents only', async (t) => {
  const { connection, sweep, insert, count, lines } = await setUp(t);
  const kept = [
    { name: 'later', expires_at: future() },
    { name: 'never' },
    { name: 'null', expires_at: null },
    { name: 'a text', expires_at: '2000-01-01T00:00:00Z' },
    { name: 'a number', expires_at: 0 },
  ];
  await insert('a', [
    ...kept,
    { name: 'gone', expires_at: past() },
    { name: 'old', expires_at: new Date(0) },
  ]);
  await insert('b', [{ name: 'gone', expires_at: past() }]);
  await insert('unlisted', [{ name: 'kept', expires_at: past() }]);
  sweep('a', 'missing', 'b');
  await until(async () => (await count('b')) === 0, 5000);
  const left = await connection.collection('a').find().toArray();
  t.same(
    left.map(({ name }) => name),
    kept.map(({ name }) => name),
  );
  t.equal(await count('unlisted'), 1);

  await insert('a', [{ name: 'gone', expires_at: past() }]);
  await until(async () => (await count('a')) === kept.length, 5000);
  t.strictSame(lines, [], 'again and again, in silence');
});

t.test('works in batches', async (t) => {
  const { deletions, sweep, insert, count } = await setUp(t);
  await insert('a', [...many(2 * BATCH + 7, past), ...many(3, future)]);
  sweep('a');
  await until(async () => (await count('a')) === 3, 10_000);
  t.strictSame(deletions, [BATCH, BATCH, 7]);
});

t.test('stop waits for the current batch, and begins no other', async (t) => {
  const { connection, deletions, sweep, insert, count } = await setUp(t);
  await insert('a', many(4 * BATCH, past));
  const client = connection.getClient();
  const stopping = Promise.withResolvers<void>();
  const sweeper = sweep('a');
  let ended = 0;
  client.on('commandStarted', ({ commandName }) => {
    if (commandName === 'delete') stopping.resolve(sweeper.stop());
  });
  client.on('commandSucceeded', ({ commandName }) => {
    if (commandName === 'delete') ended += 1;
  });
  await stopping.promise;
  t.equal(ended, 1);
  t.strictSame(deletions, [BATCH]);
  t.equal(await count('a'), 3 * BATCH);
});

t.test('stop before the first sweep', async (t) => {
  const { connection, insert, count } = await setUp(t);
  await insert('a', many(1, past));
  const sweeper = createSweeper(connection, ['a'], { logger });
  await sweeper.stop();
  sweeper.start();
  await sweeper.stop();
  t.equal(await count('a'), 1);
});

t.test('a document that is renewed in the meantime stays', async (t) => {
  const { connection, deletions, sweep, insert, count } = await setUp(t);
  await insert('a', [...many(1, past), ...many(1, past)]);
  const collection = connection.collection('a');
  const [renewed] = await collection.find().limit(1).toArray();
  if (renewed === undefined) throw new Error('nothing was inserted');
  // Between the sweeper's query and its deletion.
  const deleteMany = collection.deleteMany.bind(collection);
  collection.deleteMany = async (...args) => {
    await collection.updateOne({ _id: renewed._id }, { $set: { expires_at: future() } });
    return deleteMany(...args);
  };
  sweep('a');
  await until(() => deletions.length > 0, 5000);
  await until(async () => (await count('a')) <= 1, 5000);
  t.same(
    (await collection.find().toArray()).map(({ _id }) => _id),
    [renewed._id],
  );
});

t.test('a failed sweep is logged, and the next one continues', async (t) => {
  const { connection, lines, sweep, insert, count } = await setUp(t);
  await connection.createCollection('source');
  // Nothing can be deleted from a view.
  await connection.db?.createCollection('view', { viewOn: 'source', pipeline: [] });
  await insert('source', many(1, past));
  sweep('view');
  await until(() => lines.length >= 2, 5000);
  t.match(lines[0], {
    level: 'warn',
    msg: 'a sweep failed; the next one continues',
    err: { type: 'MongoServerError' },
  });
  t.equal(await count('source'), 1);
});
