import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { startLocalMongo } from '../src/start.ts';
import { becomes, connect, JOURNALLED, recordingLogger, temporaryDirectory } from './fixture.ts';
import { startHolder } from './holder.ts';
import { isAlive, pidOf } from './processes.ts';

const { env } = process;

t.test('kill -9 of the process that started the database ends the database', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const holder = await startHolder(t, dataDir);
  const client = await connect(t, holder.uri);
  await client.db('test').collection('writes').insertOne({ kept: true }, JOURNALLED);
  await client.close();

  holder.process.kill('SIGKILL');
  t.ok(await becomes(() => !isAlive(holder.pid), 2_000));

  const { logger } = recordingLogger();
  const mongo = await startLocalMongo({ dataDir, env, logger });
  t.teardown(() => mongo.stop());
  t.equal(mongo.uri, holder.uri);
  const again = await connect(t, mongo.uri);
  t.match(await again.db('test').collection('writes').findOne(), { kept: true });
});

t.test('kill -9 of both, then a start at once', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const holder = await startHolder(t, dataDir);
  process.kill(holder.pid, 'SIGKILL');
  holder.process.kill('SIGKILL');
  const { logger } = recordingLogger();
  const mongo = await startLocalMongo({ dataDir, env, logger });
  t.teardown(() => mongo.stop());
  const client = await connect(t, mongo.uri);
  t.match(await client.db('admin').command({ ping: 1 }), { ok: 1 });
});

t.test('a start right after kill -9 of the parent alone waits for the database to close', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const holder = await startHolder(t, dataDir);
  holder.process.kill('SIGKILL');
  const { logger } = recordingLogger();
  const mongo = await startLocalMongo({ dataDir, env, logger });
  t.teardown(() => mongo.stop());
  t.not(mongo.pid, holder.pid);
});

t.test("a terminal's Ctrl-C and hang-up are left to the parent", async (t) => {
  const { logger, lines } = recordingLogger();
  const mongo = await startLocalMongo({ dataDir: await temporaryDirectory(t), env, logger });
  t.teardown(() => mongo.stop());
  const pid = pidOf(mongo);
  process.kill(pid, 'SIGINT');
  process.kill(pid, 'SIGHUP');
  await sleep(200);
  t.equal(mongo.pid, pid);
  t.notMatch(lines.join(), /ended/);
});
