import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { createDatabase } from '../src/database.ts';
import { createErasures, inBatches } from '../src/erasures.ts';

const AGAIN_MS = 300;
const uri = await testDatabase(t);

async function open(erase: Parameters<typeof createErasures>[1]['erase']) {
  const database = createDatabase({ uri, name: 'test', logger });
  const erasures = createErasures(database.connection, { erase, logger, againMs: AGAIN_MS });
  await database.start();
  const stop = async () => {
    await erasures.stop();
    await database.stop();
  };
  t.teardown(stop);
  return { erasures, connection: database.connection, stop };
}

t.test(
  'a person is erased at once and once more, also by the next process, and then forgotten',
  async (t) => {
    const calls: string[] = [];
    const first = await open(async (id) => {
      calls.push(`first ${id}`);
      throw new Error('it cannot be done');
    });
    first.erasures.start();
    await first.erasures.request('usr_a');
    await until(() => calls.length > 0, 5000);
    await first.stop();

    const begun: Date[] = [];
    const second = await open(async (id, requestedAt) => {
      if (id === 'usr_bad') throw new Error('it cannot be done');
      calls.push(id);
      begun.push(requestedAt);
    });
    await second.erasures.request('usr_bad');
    await second.erasures.request('usr_b');
    second.erasures.start();
    const times = (id: string) => calls.filter((it) => it === id).length;
    await until(() => times('usr_a') === 2 && times('usr_b') === 2, 10_000);
    t.ok(Number(begun[0]) < Number(begun.at(-1)), 'with the time at which it was requested');
    const kept = () => second.connection.collection('erasures').find({}).toArray();
    await until(async () => (await kept()).length === 1, 5000);
    t.match(
      await kept(),
      [{ _id: 'usr_bad', again: false }],
      'one that fails is kept, and holds up no other',
    );

    await second.erasures.request('usr_a');
    await until(() => times('usr_a') === 3, 2000);
    t.pass('requested again, it is erased again');
  },
);

t.test('an erasure in batches erases everything', async (t) => {
  const { connection } = await open(async () => {});
  const collection = connection.collection<{ _id: string }>('things');
  const ids = Array.from({ length: 1001 }, (_, i) => `${i}`);
  await collection.insertMany(ids.map((_id) => ({ _id, owner: Number(_id) < 1000 ? 'a' : 'b' })));
  await inBatches(collection as never, { owner: 'a' }, (found) =>
    collection.deleteMany({ _id: { $in: found } }),
  );
  t.match(await collection.find({}).toArray(), [{ _id: '1000' }]);
});
