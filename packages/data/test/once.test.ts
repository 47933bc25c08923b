import { onceInDatabase } from '@gatehouse/data/once';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';

async function setUp(t: Test) {
  const uri = await testDatabase(t);
  let times = 0;
  const act = async () => {
    times += 1;
  };
  const connect = async () => {
    const { connection } = await startTestDatabase(t, { uri });
    return connection;
  };
  return { connect, act, times: () => times };
}

t.test('runs once in the lifetime of a database', async (t) => {
  const { connect, act, times } = await setUp(t);
  const first = await connect();
  await onceInDatabase(first, 'a', act);
  await onceInDatabase(first, 'a', act);
  await onceInDatabase(await connect(), 'a', act);
  t.equal(times(), 1, 'also after another start');
  await onceInDatabase(first, 'b', act);
  t.equal(times(), 2, 'each name by itself');
});

t.test('runs again after a failure', async (t) => {
  const { connect, act, times } = await setUp(t);
  const connection = await connect();
  const failed = new Error('it went wrong');
  await t.rejects(
    onceInDatabase(connection, 'a', () => Promise.reject(failed)),
    failed,
  );
  await onceInDatabase(connection, 'a', act);
  t.equal(times(), 1);
});

t.test('several processes at the same moment', async (t) => {
  const { connect, act, times } = await setUp(t);
  const connections = await Promise.all([connect(), connect(), connect()]);
  await Promise.all(connections.map((connection) => onceInDatabase(connection, 'a', act)));
  t.ok(times() >= 1 && times() <= 3, 'all of them succeed');
  const before = times();
  await onceInDatabase(await connect(), 'a', act);
  t.equal(times(), before);
});
