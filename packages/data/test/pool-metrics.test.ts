import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { createDatabase } from '../src/database.ts';

t.test('the metrics say how many connections are in use, and how many operations wait for one', async (t) => {
  const database = createDatabase({ uri: await testDatabase(t), name: 'test', logger });
  t.teardown(() => database.stop());
  const read = () =>
    Object.fromEntries(database.metrics().map(({ name, samples }) => [name, samples[0]?.value]));
  t.same(read(), {}, 'before it is connected');
  await database.start();
  const { db } = database.connection;
  const busiest = { inUse: 0, waiting: 0 };
  const operations = Array.from({ length: 300 }, async () => {
    await db?.command({ ping: 1 });
    const {
      gatehouse_mongodb_connections_in_use: inUse = 0,
      gatehouse_mongodb_operations_waiting: waiting = 0,
    } = read();
    busiest.inUse = Math.max(busiest.inUse, inUse);
    busiest.waiting = Math.max(busiest.waiting, waiting);
  });
  await Promise.all(operations);
  t.ok(busiest.waiting > 100 && busiest.waiting < 300, `${busiest.waiting} have waited`);
  t.ok(busiest.inUse > 0 && busiest.inUse <= 50, `${busiest.inUse} were in use`);
  const none = { gatehouse_mongodb_connections_in_use: 0, gatehouse_mongodb_operations_waiting: 0 };
  t.same(read(), none, 'afterwards');

  const cut = Array.from({ length: 100 }, () => db?.command({ ping: 1 }));
  await Promise.all([database.stop(), Promise.allSettled(cut)]);
  t.same(read(), none, 'when they are cut off');
});
