import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { NoMongoError, startLocalMongo } from '../src/start.ts';
import { recordingLogger } from './fixture.ts';

const { logger } = recordingLogger();
/** What must not be made: with a MONGODB_URI nothing is written. */
const dataDir = '/nonexistent/gatehouse';

/** A port of this machine that accepts connections. */
async function listeningPort(t: Test): Promise<number> {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function messageFor(uri: string): Promise<string> {
  return startLocalMongo({ uri, dataDir, env: process.env, logger }).then(
    () => 'reachable',
    (error: unknown) => {
      if (error instanceof NoMongoError) return error.message;
      throw error;
    },
  );
}

t.test('a MONGODB_URI that accepts connections is used as it is', async (t) => {
  const port = await listeningPort(t);
  const uri = `mongodb://anna:secret@127.0.0.1:1,localhost:${port}/shop?replicaSet=rs`;
  const mongo = await startLocalMongo({ uri, dataDir, env: process.env, logger });
  t.match(mongo, { uri, kind: 'MONGODB_URI', pid: undefined });
  await mongo.stop();
  t.match(
    await startLocalMongo({ uri: 'mongodb+srv://anna:secret@cluster.example', dataDir, env: {}, logger }),
    {
      kind: 'MONGODB_URI',
    },
  );
});

t.test('an unreachable MONGODB_URI is final, and its credentials are not shown', async (t) => {
  t.equal(
    await messageFor('mongodb://anna:s3cret%2F@127.0.0.1:1/shop'),
    'The MongoDB of MONGODB_URI cannot be reached: 127.0.0.1:1 (ECONNREFUSED). ' +
      'Start it, or unset MONGODB_URI to have one started.',
  );
  for (const uri of [
    'mongodb://anna:s3cret@[::1]:1',
    'mongodb://anna:s3cret@localhost:1,127.0.0.1:2/',
    'mongodb://anna:s3cret@%2Fnonexistent%2Fmongodb.sock/?directConnection=true',
    'mongodb://anna:s3cret@no-such-host.invalid',
    'mongodb://anna:s3cret@host:port:x',
    'mongodb://anna:s3cret@%zz',
    // Not percent-encoded, so that part of the password stands where the host should.
    'mongodb://anna:s3c@s3cret/x@127.0.0.1:1',
    'mongodb://anna:x/s3cret@127.0.0.1:1@',
    'http://anna:s3cret@127.0.0.1:1',
    'anna:s3cret',
  ]) {
    const message = await messageFor(uri);
    t.match(message, /MONGODB_URI/, message);
    t.notMatch(message, /s3c|anna/);
  }
});
