import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import timers from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, type Database } from '@gatehouse/data/database';
import { type LocalMongo, startLocalMongo } from '@gatehouse/local-mongo/start';
import { freePort, until } from '@gatehouse/testing/processes';
import { logger, recordingLogger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import mongoose, { type Connection } from 'mongoose';
import t, { type Test } from 'tap';

t.jobs = 4;
// A new object each: tap writes into it.
const parallel = () => ({ buffered: true });

const AWAY = 'The database cannot be reached.';

function open(t: Test, uri: string, name = 'service') {
  const { logger, lines } = recordingLogger();
  const database = createDatabase({ uri, name, logger });
  t.teardown(() => database.stop());
  return { database, lines };
}

function defineThings(connection: Connection) {
  return connection.model('Thing', new mongoose.Schema({ name: { type: String, unique: true } }));
}

async function temporaryDirectory(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'gatehouse-test-'));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A MongoDB of this test's own, that it may kill. */
async function ownMongo(t: Test, dataDir: string): Promise<LocalMongo> {
  const mongo = await startLocalMongo({ dataDir, env: process.env, logger });
  t.teardown(() => mongo.stop());
  return mongo;
}

const isSoon = (promise: Promise<unknown>, ms: number) =>
  Promise.race([promise.then(() => true), sleep(ms, false, { ref: false })]);

/** What the operations end with, and whether each failure is told as `unavailable`. */
async function outcomes(database: Database, operations: Promise<unknown>[]) {
  const settled = await Promise.allSettled(operations);
  const failures = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  const untold = failures.filter((error) => database.unavailable(error)?.kind !== 'unavailable');
  return { failures, untold };
}

t.test('start connects and creates the indexes', parallel(), async (t) => {
  const { database, lines } = open(t, await testDatabase(t));
  const Thing = defineThings(database.connection);
  t.equal(await database.unready(), 'not yet connected to its database');
  await database.start();
  t.equal(await database.unready(), undefined);
  await Thing.create({ name: 'a' });
  const indexes = await Thing.collection.indexes();
  t.match(indexes, [{ key: { _id: 1 } }, { key: { name: 1 }, unique: true }]);
  t.strictSame(lines, []);
});

const NAMES: [change: (uri: string) => string, expected: RegExp][] = [
  [(uri) => uri, /^test_[0-9a-f]+$/],
  [(uri) => uri.replace(/\/test_\w+/, ''), /^service$/],
  [(uri) => uri.replace(/\/test_\w+/, '/'), /^service$/],
  [(uri) => uri.replace(/\/test_\w+\?.*$/, ''), /^service$/],
];

t.test('the name of the database is that in the URI, else that of the service', parallel(), async (t) => {
  const uri = await testDatabase(t);
  for (const [change, expected] of NAMES) {
    const { database } = open(t, change(uri));
    await database.start();
    t.match(database.connection.name, expected, change('mongodb://host/test_1?x=y'));
    t.equal(database.connection.db?.databaseName, database.connection.name);
    await database.stop();
  }
});

t.test('every write waits for the journal of a majority', parallel(), async (t) => {
  const uri = (await testDatabase(t)).replace('&w=1&journal=true', '');
  const { database } = open(t, `${uri}${uri.includes('?') ? '&' : '?'}monitorCommands=true`);
  const Thing = defineThings(database.connection);
  await database.start();
  const concerns: [command: string, concern: unknown][] = [];
  database.connection.getClient().on('commandStarted', ({ commandName, command }) => {
    concerns.push([commandName, command.writeConcern]);
  });
  await Thing.create({ name: 'a' });
  await Thing.insertMany([{ name: 'b' }, { name: 'c' }]);
  await Thing.updateOne({ name: 'a' }, { name: 'd' });
  await Thing.findOneAndUpdate({ name: 'd' }, { name: 'e' });
  await Thing.bulkWrite([{ insertOne: { document: { name: 'f' } } }]);
  await Thing.deleteOne({ name: 'f' });
  await Thing.deleteMany({ name: 'x' });
  const thing = await Thing.findOneAndDelete({ name: 'e' });
  t.equal(thing?.name, 'e');
  await database.connection.collection('others').insertOne({ a: 1 });
  const journalled = { w: 'majority', j: true };
  t.strictSame(
    concerns,
    [
      'insert',
      'insert',
      'update',
      'findAndModify',
      'insert',
      'delete',
      'delete',
      'findAndModify',
      'insert',
    ].map((command) => [command, journalled]),
  );
});

t.test('and of as many servers as the URI says', parallel(), async (t) => {
  const uri = (await testDatabase(t)).replace('&w=1&journal=true', '');
  for (const [parameter, w] of [
    ['w=1', 1],
    ['w=3', 3],
    ['w=majority', 'majority'],
  ] as const) {
    const { database } = open(t, `${uri}&${parameter}`);
    await database.start();
    t.match(database.connection.getClient().options.writeConcern, { w, j: true }, parameter);
    await database.stop();
  }
});

t.test('an operation before the start fails at once', parallel(), async (t) => {
  const { database } = open(t, `mongodb://127.0.0.1:${await freePort()}/`);
  const Thing = defineThings(database.connection);
  const begin = performance.now();
  const { failures, untold } = await outcomes(database, [Thing.findOne(), Thing.create({ name: 'a' })]);
  t.equal(failures.length, 2);
  t.strictSame(untold, []);
  t.ok(performance.now() - begin < 1000);
});

t.test('start waits for the server', parallel(), async (t) => {
  const dataDir = await temporaryDirectory(t);
  const before = await startLocalMongo({ dataDir, env: process.env, logger });
  await before.stop();

  const { database, lines } = open(t, before.uri);
  const Thing = defineThings(database.connection);
  let started = false;
  const starting = database.start().then(() => {
    started = true;
  });
  await until(() => lines.length === 1, 5000);
  t.match(lines[0], { level: 'warn', msg: 'the database cannot be reached', retry_in_ms: 200 });
  t.equal(await database.unready(), 'not yet connected to its database');
  const refused = outcomes(database, [Thing.findOne(), Thing.create({ name: 'a' })]);
  t.ok(await isSoon(refused, 3000), 'requests are refused at once');
  t.strictSame((await refused).untold, []);
  t.equal((await refused).failures.length, 2);
  t.notOk(started);

  const mongo = await ownMongo(t, dataDir);
  t.equal(mongo.uri, before.uri);
  await starting;
  t.equal(await database.unready(), undefined);
  await Thing.create({ name: 'a' });
  t.match(await Thing.collection.indexes(), [{}, { unique: true }], 'with its indexes');
});

function useThings(database: Database) {
  const Thing = defineThings(database.connection);
  let next = 0;
  return () => [
    Thing.findOne({ name: 'a' }).lean(),
    Thing.create({ name: `name ${next++}` }),
    Thing.collection.insertOne({ name: `name ${next++}` } as never),
    Thing.updateOne({ name: 'a' }, { name: 'b' }),
    Thing.collection.find({}).toArray(),
  ];
}

const isReady = async (database: Database) => (await database.unready()) === undefined;

t.test('the database is killed and restarted', parallel(), async (t) => {
  const mongo = await ownMongo(t, await temporaryDirectory(t));
  const { database } = open(t, mongo.uri);
  const operations = useThings(database);
  await database.start();
  const all: unknown[] = [];
  for (const round of [1, 2, 3]) {
    await until(() => mongo.pid !== undefined && isReady(database), 20_000);
    // Connections that the driver takes for good when it writes on them the next time.
    t.strictSame((await outcomes(database, operations())).failures, [], `round ${round}`);
    // Not by process.kill(): this returns when the database is gone, and before the driver can know.
    spawnSync('kill', ['-9', String(mongo.pid)]);
    const { failures, untold } = await outcomes(database, operations());
    t.strictSame(untold, [], 'every failure is told as unavailable');
    all.push(...failures);
  }
  t.match(database.unavailable(all[0]), { status: 503, message: AWAY, headers: { 'retry-after': '1' } });
  await until(() => isReady(database), 20_000);
  t.strictSame((await outcomes(database, operations())).failures, [], 'it goes on by itself');
});

t.test('the database is unreachable for a while', parallel(), async (t) => {
  const dataDir = await temporaryDirectory(t);
  const mongo = await ownMongo(t, dataDir);
  const { database } = open(t, mongo.uri);
  const operations = useThings(database);
  await database.start();
  await outcomes(database, operations());
  await mongo.stop();
  const begin = performance.now();
  // While the driver finds out, and when it knows.
  for (const time of ['at first', 'then']) {
    const native = database.connection.getClient().db('other').collection('things').findOne({});
    const { failures, untold } = await outcomes(database, [...operations(), native]);
    t.equal(failures.length, 6, time);
    t.strictSame(untold, [], `${time}, every failure is told as unavailable`);
    t.equal(await database.unready(), 'its database cannot be reached');
  }
  t.ok(performance.now() - begin < 10_000, 'within seconds');
  await ownMongo(t, dataDir);
  await until(() => isReady(database), 20_000);
  t.strictSame((await outcomes(database, operations())).failures, [], 'it goes on by itself');
});

t.test('a hung database is not ready', parallel(), async (t) => {
  const mongo = await ownMongo(t, await temporaryDirectory(t));
  const { database } = open(t, mongo.uri);
  await database.start();
  const pid = mongo.pid ?? 0;
  const wake = () => process.kill(pid, 'SIGCONT');
  process.kill(pid, 'SIGSTOP');
  t.teardown(() => isAlive(pid) && wake());
  const response = database.unready();
  t.ok(await isSoon(response, 3000), 'which is known within seconds');
  if (await isSoon(response, 0)) t.equal(await response, 'its database cannot be reached');
  wake();
  await until(() => isReady(database), 5000);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

t.test('a connection that nobody uses does not wake the process', parallel(), async (t) => {
  const { database } = open(t, await testDatabase(t));
  await database.start();
  const { setTimeout: original } = timers;
  t.teardown(() => Object.assign(timers, { setTimeout: original }));
  let checks = 0;
  // The driver's default for the interval between two checks of a pool.
  Object.assign(timers, {
    setTimeout: (callback: () => void, ms: number) => {
      if (ms === 100 && new Error().stack?.includes('connection_pool')) checks += 1;
      return original(callback, ms);
    },
  });
  await sleep(1000);
  t.equal(checks, 0);
});

t.test('the server is not pinged while it answers', parallel(), async (t) => {
  const { database } = open(t, `${await testDatabase(t)}&monitorCommands=true`);
  await database.start();
  const commands: string[] = [];
  database.connection.getClient().on('commandStarted', ({ commandName }) => void commands.push(commandName));
  await sleep(3000);
  await database.connection.collection('things').findOne({});
  await sleep(3000);
  t.same(commands, ['find']);
});

for (const [use, limitMs] of [
  ['in use', 14_000],
  ['at rest', 25_000],
] as const) {
  t.test(`a server that hangs ${use} is noticed`, parallel(), async (t) => {
    const mongo = await ownMongo(t, await temporaryDirectory(t));
    const { database, lines } = open(t, mongo.uri);
    await database.start();
    const pid = mongo.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    t.teardown(() => isAlive(pid) && process.kill(pid, 'SIGCONT'));
    const things = database.connection.collection('things');
    const found = use === 'in use' ? outcomes(database, [things.findOne({})]) : undefined;
    const isNoticed = () => lines.some(({ msg }) => /has been unreachable for a while/.test(String(msg)));
    await until(isNoticed, limitMs);
    process.kill(pid, 'SIGCONT');
    await until(() => isReady(database), 10_000);
    t.strictSame((await found)?.untold ?? [], []);
  });
}

t.test('stop while start is waiting', parallel(), async (t) => {
  const port = await freePort();
  const { database, lines } = open(t, `mongodb://127.0.0.1:${port}/?directConnection=true`);
  const failed = t.rejects(database.start(), new Error('stopped while waiting for the database'));
  await until(() => lines.length > 0, 5000);
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  t.teardown(() => server.close());
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const stopped = database.stop();
  t.ok(await isSoon(Promise.all([stopped, failed]), 1500), 'ends both at once');
  await failed;
  t.equal(connections, 0, 'and nothing connects any more');
});

t.test('stop while start connects', parallel(), async (t) => {
  const { database, lines } = open(t, `mongodb://127.0.0.1:${await freePort()}/`);
  const failed = t.rejects(database.start(), new Error('stopped while waiting for the database'));
  t.ok(await isSoon(Promise.all([database.stop(), failed]), 1500), 'ends both at once');
  t.strictSame(lines, [], 'in silence');
});

t.test('after stop the database is unavailable', parallel(), async (t) => {
  const { database } = open(t, await testDatabase(t));
  const Thing = defineThings(database.connection);
  await database.start();
  await database.stop();
  await database.stop();
  t.ok(await database.unready());
  const { failures, untold } = await outcomes(database, [Thing.findOne(), Thing.create({ name: 'a' })]);
  t.equal(failures.length, 2);
  t.strictSame(untold, []);
});

const NEVER: [
  label: string,
  change: (uri: string) => string,
  expected: { name: string; codeName?: string },
][] = [
  [
    'wrong credentials',
    (uri) => uri.replace('://', '://someone:secret@'),
    { name: 'MongoServerError', codeName: 'AuthenticationFailed' },
  ],
  ['an option that is none', (uri) => `${uri}&nosuch=1`, { name: 'MongoParseError' }],
  ['a value that is none', (uri) => `${uri}&tls=perhaps`, { name: 'MongoParseError' }],
  ['no host', () => 'mongodb://', { name: 'MongoParseError' }],
];

t.test(
  'operations that wait for a connection when the pool is closed are unavailable',
  parallel(),
  async (t) => {
    const { database } = open(t, await testDatabase(t));
    await database.start();
    const things = database.connection.collection('things');
    const operations = Array.from({ length: 500 }, (_, i) =>
      i % 2 === 0 ? things.insertOne({ i }) : things.bulkWrite([{ insertOne: { document: { i } } }]),
    );
    const ended = outcomes(database, operations);
    await database.stop();
    const { failures, untold } = await ended;
    t.ok(failures.length > 0);
    t.same(untold, []);
  },
);

t.test('errors that a retry cannot fix are thrown at once', parallel(), async (t) => {
  const mongo = await ownMongo(t, await temporaryDirectory(t));
  for (const [label, change, expected] of NEVER) {
    const { database, lines } = open(t, change(mongo.uri));
    await t.rejects(database.start(), expected, label);
    t.strictSame(lines, [], `${label}: and not tried again`);
    await database.stop();
  }
});

t.test('a failure to create an index is thrown', parallel(), async (t) => {
  const uri = await testDatabase(t);
  const first = open(t, uri).database;
  await first.start();
  await first.connection.collection('things').insertMany([{ name: 'twice' }, { name: 'twice' }]);
  const second = open(t, uri).database;
  defineThings(second.connection);
  await t.rejects(second.start(), { name: 'MongoServerError', code: 11000 });
});

t.test('failures of a database that is reachable', parallel(), async (t) => {
  const { database } = open(t, await testDatabase(t));
  const Thing = defineThings(database.connection);
  await database.start();
  await Thing.create({ name: 'a' });
  const failing: [label: string, operation: () => Promise<unknown>][] = [
    ['a duplicate', () => Thing.create({ name: 'a' })],
    ['a value that cannot be cast', () => Thing.create({ name: { a: 1 } as never })],
    ['a query that the server refuses', () => Thing.collection.findOne({ $nosuch: 1 } as never)],
    ['another error', () => Promise.reject(new Error('x'))],
    ['no error at all', () => Promise.reject(undefined)],
  ];
  for (const [label, operation] of failing) {
    const { failures, untold } = await outcomes(database, [operation()]);
    t.equal(failures.length, 1, label);
    t.equal(untold.length, 1, label);
  }
});

t.test('a query that takes too long is 503 with advice', parallel(), async (t) => {
  const { database } = open(t, await testDatabase(t));
  await database.start();
  const things = database.connection.collection('things');
  await things.insertMany(Array.from({ length: 50_000 }, (_, i) => ({ name: `thing ${i}` })));
  const slow = things.find({ $expr: { $eq: [{ $strLenCP: '$name' }, 1] } }).maxTimeMS(1);
  const error = await slow.toArray().catch((thrown: unknown) => thrown);
  t.match(database.unavailable(error), { kind: 'unavailable', message: /takes too long/ });
  t.equal(database.unavailable(new Error('other')), undefined);
});
