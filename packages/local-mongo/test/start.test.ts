import { chmod, mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { NoMongoError, startLocalMongo } from '../src/start.ts';
import { connect, JOURNALLED, recordingLogger, temporaryDirectory } from './fixture.ts';
import { isAlive, pidOf } from './processes.ts';

const { env } = process;

t.test('a database can be written and read, and is at the same URI after a restart', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const { logger, lines } = recordingLogger();

  const first = await startLocalMongo({ dataDir, env, logger });
  t.teardown(() => first.stop());
  t.match(first.uri, /^mongodb:\/\/%2F.*\.sock\/\?directConnection=true&w=1&journal=true$/);
  t.match(lines.join(), /the local MongoDB is ready/);
  const client = await connect(t, first.uri);
  await client.db('shop').collection('orders').insertOne({ total: 7 }, JOURNALLED);
  await client.close();
  const pid = pidOf(first);
  t.ok(isAlive(pid));
  await Promise.all([first.stop(), first.stop()]);
  await first.stop();
  t.notOk(isAlive(pid), 'stop() ends the process');
  t.equal(first.pid, undefined);

  const second = await startLocalMongo({ dataDir, env, logger });
  t.teardown(() => second.stop());
  t.equal(second.uri, first.uri);
  const again = await connect(t, second.uri);
  t.match(await again.db('shop').collection('orders').findOne(), { total: 7 });
});

t.test('a data directory with a path too long for a socket address', async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'deep/'.repeat(30), 'é , %40 "x"');
  const { logger } = recordingLogger();
  const mongo = await startLocalMongo({ dataDir, env, logger });
  t.teardown(() => mongo.stop());
  const client = await connect(t, mongo.uri);
  t.match(await client.db('admin').command({ ping: 1 }), { ok: 1 });

  const socketPath = decodeURIComponent(new URL(mongo.uri).host);
  t.teardown(() => rm(dirname(socketPath), { recursive: true }));
  t.equal(dirname(dirname(socketPath)), tmpdir());
  t.same(await readdir(dirname(socketPath)), ['mongodb.sock'], 'only the published socket is left');
});

t.test('a socket directory that is accessible to others is rejected', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const { logger } = recordingLogger();
  const first = await startLocalMongo({ dataDir, env, logger });
  await first.stop();
  const sockets = dirname(decodeURIComponent(new URL(first.uri).host));

  await chmod(sockets, 0o755);
  await t.rejects(startLocalMongo({ dataDir, env, logger }), NoMongoError);

  const linked = join(await temporaryDirectory(t), 'mongodb');
  const elsewhere = await temporaryDirectory(t);
  await mkdir(linked);
  await symlink(elsewhere, join(linked, sockets.slice(dirname(sockets).length + 1)));
  await t.rejects(startLocalMongo({ dataDir: dirname(linked), env, logger }), NoMongoError);
  t.same(await readdir(elsewhere), [], 'nothing was written through the provider');
});

t.test('data stays with the kind of database that wrote it', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const { logger } = recordingLogger();
  const first = await startLocalMongo({ dataDir, env, logger });
  await first.stop();
  // If it were tried, this start would fail.
  const withMongod = { ...env, MONGOD_BINARY: '/nonexistent/mongod' };
  const second = await startLocalMongo({ dataDir, env: withMongod, logger });
  t.teardown(() => second.stop());
  t.equal(second.kind, first.kind);
});
