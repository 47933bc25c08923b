import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { NoMongoError, startLocalMongo } from '../src/start.ts';
import { recordingLogger, temporaryDirectory } from './fixture.ts';

const { logger } = recordingLogger();
const ADVICE =
  'Set MONGODB_URI to the address of a MongoDB, or install MongoDB so that mongod is on the PATH.';
/** A port that nothing listens on, as the way out: real programs without a network. */
const NO_NETWORK = { http_proxy: 'http://127.0.0.1:1', https_proxy: 'http://127.0.0.1:1' };

async function messageFor(t: Test, env: NodeJS.ProcessEnv, dataDir?: string): Promise<string> {
  const options = { dataDir: dataDir ?? (await temporaryDirectory(t)), env, logger };
  return startLocalMongo(options).then(
    async (mongo) => {
      await mongo.stop();
      return `started the ${mongo.kind}`;
    },
    (error: unknown) => {
      if (error instanceof NoMongoError) return error.message;
      throw error;
    },
  );
}

t.test('no MongoDB is available', async (t) => {
  t.equal(
    await messageFor(t, { GATEHOUSE_MONGO: 'mongod', PATH: '' }),
    ['No MongoDB could be started:', '- There is no mongod on the PATH.', ADVICE].join('\n'),
  );
});

t.test('GATEHOUSE_MONGO with a name that does not exist', async (t) => {
  t.equal(
    await messageFor(t, { GATEHOUSE_MONGO: 'mongod, postgres' }),
    'GATEHOUSE_MONGO names "postgres"; it may name uri, mongod, embedded, download.',
  );
});

t.test('GATEHOUSE_MONGO without uri leaves MONGODB_URI out', async (t) => {
  const { logger, lines } = recordingLogger();
  const env = { GATEHOUSE_MONGO: 'mongod', PATH: '' };
  const dataDir = await temporaryDirectory(t);
  await t.rejects(startLocalMongo({ uri: 'mongodb://127.0.0.1', dataDir, env, logger }), NoMongoError);
  t.match(lines.join(), /MONGODB_URI is set, but GATEHOUSE_MONGO leaves it out/);
});

t.test('MONGOD_BINARY that cannot be run is final', async (t) => {
  t.equal(
    await messageFor(t, { ...process.env, MONGOD_BINARY: '/etc/passwd' }),
    'MONGOD_BINARY is /etc/passwd, which is not an executable file.',
  );
});

t.test('a mongod that ends at once', async (t) => {
  const env = { ...process.env, GATEHOUSE_MONGO: 'mongod', MONGOD_BINARY: process.execPath };
  t.match(
    await messageFor(t, env),
    /- The mongod did not start \(exit status 9\): .*bad option.* \(more in /,
  );
});

t.test('a data directory that cannot be made', async (t) => {
  t.match(await messageFor(t, process.env, '/dev/null/data'), /^MongoDB could not be started: ENOTDIR/);
});

t.test('without a network the download fails soon', async (t) => {
  const startedAt = performance.now();
  const env = { ...process.env, ...NO_NETWORK, GATEHOUSE_MONGO: 'download' };
  const message = await messageFor(t, { ...env, XDG_CACHE_HOME: await temporaryDirectory(t) });
  t.match(message, /- MongoDB's own mongod could not be downloaded: .*ECONNREFUSED/);
  t.ok(performance.now() - startedAt < 10_000);
});

t.test('with data of earlier starts no other kind of database is started', async (t) => {
  const dataDir = await temporaryDirectory(t);
  await mkdir(join(dataDir, 'mongodb'));
  await writeFile(join(dataDir, 'mongodb', 'kept-by'), 'mongod');
  t.equal(
    await messageFor(t, { ...process.env, PATH: '' }, dataDir),
    [
      'No MongoDB could be started:',
      '- MONGODB_URI is not set.',
      '- There is no mongod on the PATH.',
      `Nothing else was tried, because the data of earlier starts is in ${dataDir}/mongodb/mongod.`,
      ADVICE,
    ].join('\n'),
  );
});
