import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@gatehouse/core/logger';
import { startLocalMongo } from '@gatehouse/local-mongo/start';

/** Names the MongoDB of the run to the test files. A developer may set it to another one. */
export const MONGO_URI_VARIABLE = 'GATEHOUSE_TEST_MONGODB_URI';
/** Says why there is no MongoDB, so that a file that needs one can report it without trying again. */
export const NO_MONGO_VARIABLE = 'GATEHOUSE_TEST_NO_MONGODB';

type TestMongo = { uri: string; stop(): Promise<void> };
type Teardown = { teardown(action: () => unknown): void };

let users = 0;
let shared: Promise<TestMongo> | undefined;

/**
 * Starts a MongoDB with an empty data directory, which stop() removes.
 * @throws NoMongoError when this machine has none
 */
export async function startTestMongo(): Promise<TestMongo> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-test-'));
  const remove = () => rm(dataDir, { recursive: true, force: true });
  const logger = createLogger({
    name: 'test',
    level: 'warn',
    readable: false,
    destination: process.stderr,
  });
  try {
    const mongo = await startLocalMongo({ dataDir, env: process.env, logger });
    return { uri: mongo.uri, stop: () => mongo.stop().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * The URI of a MongoDB for tests: the run's or, when a file is run by hand, one that is started for this process and
 * stopped after the last test that asked for it.
 */
export async function testMongoUri(t: Teardown): Promise<string> {
  const given = process.env[MONGO_URI_VARIABLE];
  if (given) return given;
  const missing = process.env[NO_MONGO_VARIABLE];
  if (missing) throw new Error(missing);
  users++;
  shared ??= startTestMongo();
  const mongo = shared;
  t.teardown(async () => {
    if (--users > 0) return;
    shared = undefined;
    await (await mongo).stop();
  });
  return (await mongo).uri;
}

/**
 * The URI of a database that no other test uses. It needs no cleaning up: the data directory is removed after the run.
 */
export async function testDatabase(t: Teardown): Promise<string> {
  const uri = await testMongoUri(t);
  const name = `test_${randomBytes(8).toString('hex')}`;
  // The URL class cannot parse a socket's path or several hosts.
  return uri.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?/, `$1/${name}`);
}
