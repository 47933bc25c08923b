import t from 'tap';
import { startLocalMongo } from '../src/start.ts';
import { becomes, connect, JOURNALLED, recordingLogger, temporaryDirectory } from './fixture.ts';
import { pidOf } from './processes.ts';

const ROUNDS = 3;
const WRITERS = 8;

t.test('kill -9 of the database: it is restarted, and no acknowledged write is lost', async (t) => {
  const { logger, lines } = recordingLogger();
  const mongo = await startLocalMongo({ dataDir: await temporaryDirectory(t), env: process.env, logger });
  t.teardown(() => mongo.stop());
  const client = await connect(t, mongo.uri);
  const collection = client.db('test').collection<{ _id: number }>('writes');

  const acknowledged: number[] = [];
  let next = 0;
  let writing = true;
  // Writers never pause, so that each kill hits writes in flight. One whose write fails goes on with the next.
  const writers = Array.from({ length: WRITERS }, async () => {
    while (writing) {
      const _id = next++;
      await collection.insertOne({ _id }, JOURNALLED).then(
        () => acknowledged.push(_id),
        () => {},
      );
    }
  });
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const before = acknowledged.length;
      t.ok(await becomes(() => acknowledged.length > before + 50, 5_000), 'writes are acknowledged');
      const pid = pidOf(mongo);
      process.kill(pid, 'SIGKILL');
      t.ok(
        await becomes(() => mongo.pid !== undefined && mongo.pid !== pid, 5_000),
        'there is a new process',
      );
    }
  } finally {
    writing = false;
  }
  await Promise.all(writers);

  const found = new Set((await collection.find().toArray()).map(({ _id }) => _id));
  const lost = acknowledged.filter((id) => !found.has(id));
  t.same(lost, [], `of ${acknowledged.length} acknowledged writes`);
  t.match(lines.filter((line) => line.includes('"warn"')).at(0), /SIGKILL.*the local MongoDB ended/);
});

t.test('stop() while the database is being restarted', async (t) => {
  const { logger, lines } = recordingLogger();
  const mongo = await startLocalMongo({ dataDir: await temporaryDirectory(t), env: process.env, logger });
  const pid = pidOf(mongo);
  process.kill(pid, 'SIGKILL');
  t.ok(await becomes(() => mongo.pid === undefined, 1_000));
  await mongo.stop();
  t.equal(mongo.pid, undefined);
  t.equal(lines.filter((line) => line.includes('could not be started')).length, 0);
});
