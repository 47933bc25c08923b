import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@gatehouse/core/logger';
import { startLocalMongo } from '@gatehouse/local-mongo/start';
import { until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { Schema } from 'mongoose';
import t from 'tap';
import { createDatabase } from '../src/database.ts';

t.setTimeout(120_000);

t.test('it reconnects after a long outage', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-silence-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const mongo = await startLocalMongo({ dataDir, env: process.env, logger });
  t.teardown(() => mongo.stop());
  const said: string[] = [];
  const destination = { write: (line: string) => void said.push(line) };
  const database = createDatabase({
    uri: mongo.uri,
    name: 'silence',
    logger: createLogger({ name: 'test', level: 'warn', readable: false, destination }),
  });
  const Thing = database.connection.model('Thing', new Schema({ name: String }));
  await database.start();
  t.teardown(() => database.stop());
  await Thing.create({ name: 'before' });

  const stopped = mongo.pid ?? Number.NaN;
  process.kill(stopped, 'SIGSTOP');
  t.teardown(() => existsSync(`/proc/${stopped}`) && process.kill(stopped, 'SIGCONT'));
  const begin = performance.now();
  const refused = await Thing.findOne().then(
    () => undefined,
    (error: unknown) => error,
  );
  t.equal(database.unavailable(refused)?.kind, 'unavailable');
  t.ok(performance.now() - begin < 12_000, 'an operation ends within seconds');
  await until(() => said.some((line) => line.includes('reconnecting')), 30_000);
  process.kill(stopped, 'SIGCONT');

  await until(async () => (await database.unready()) === undefined, 20_000);
  t.match(await Thing.findOne().lean(), { name: 'before' });
  await Thing.create({ name: 'after' });
  t.equal(await Thing.countDocuments(), 2);
});

t.test('kill -9 of the database under eight writers loses nothing that was acknowledged', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-durability-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const mongo = await startLocalMongo({ dataDir, env: process.env, logger });
  t.teardown(() => mongo.stop());
  const database = await startTestDatabase(t, { uri: mongo.uri });
  const writes = database.connection.collection<{ _id: string }>('writes');

  const acknowledged: string[] = [];
  for (let round = 0; round < repetitions(6); round += 1) {
    const stopping = new AbortController();
    const writer = async (name: number) => {
      for (let i = 0; !stopping.signal.aborted; i += 1) {
        const _id = `${round}.${name}.${i}`;
        await writes.insertOne({ _id }).then(
          () => acknowledged.push(_id),
          () => {},
        );
      }
    };
    const before = acknowledged.length;
    const writers = Array.from({ length: 8 }, (_, name) => writer(name));
    await until(() => acknowledged.length > before + 500, 20_000);
    const killed = mongo.pid ?? Number.NaN;
    process.kill(killed, 'SIGKILL');
    stopping.abort();
    await until(() => !existsSync(`/proc/${killed}`), 5000);
    await Promise.all(writers);
    await until(async () => (await database.unready()) === undefined, 20_000);

    const there = new Set(await writes.distinct('_id'));
    const lost = acknowledged.filter((id) => !there.has(id));
    t.strictSame(lost, [], `round ${round}: ${acknowledged.length} acknowledged`);
  }
});
