// The provider to an installed mongod. Where these tests run there may be no mongod, so its place is taken by the
// embedded engine behind mongod's command line: a real MongoDB server, which locks its data in the same way and
// in the same words. What it cannot tell is whether mongod takes the options that it is given.
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type LaunchSpec, ProviderError } from '../src/provider.ts';
import { embeddedEngine } from '../src/providers/embedded.ts';
import { DataInUseError, startLocalMongo } from '../src/start.ts';
import { becomes, connect, JOURNALLED, recordingLogger, temporaryDirectory } from './fixture.ts';
import { startHolder } from './holder.ts';
import { isAlive, parentOf, pidOf } from './processes.ts';

async function prepareEngine(): Promise<LaunchSpec | undefined> {
  const { logger } = recordingLogger();
  try {
    return await embeddedEngine.prepare({ dataDirectory: '', env: process.env, logger });
  } catch (error) {
    if (error instanceof ProviderError) return undefined;
    throw error;
  }
}

const engine = process.platform === 'linux' ? await prepareEngine() : undefined;
const skip = engine ? false : 'needs Linux and the embedded engine';

/** ProviderContext in which `mongod` is a script that serves with the embedded engine. */
async function withStandIn(t: Test): Promise<NodeJS.ProcessEnv> {
  const path = join(await temporaryDirectory(t), 'mongod');
  const command = engine?.command('/').slice(0, -2) ?? [];
  await writeFile(
    path,
    `#!/bin/sh
    for option; do
      case $option in
        --dbpath=*) data=\${option#*=} ;;
        --bind_ip=*) socket=\${option#*=} ;;
      esac
    done
    # The engine's host ends when its stdin closes, which mongod does not: a pipe that never does.
    mkfifo "$socket.stdin"
    exec 0<>"$socket.stdin"
    export TMPDIR=.
    exec ${command.map((word) => `'${word}'`).join(' ')} "$data" "$(basename "$socket")"
    `,
  );
  await chmod(path, 0o755);
  return { ...process.env, GATEHOUSE_MONGO: 'mongod', MONGOD_BINARY: path };
}

t.test('a mongod is used, restarted after kill -9 of its guard, and stopped', { skip }, async (t) => {
  const { logger } = recordingLogger();
  const env = await withStandIn(t);
  const mongo = await startLocalMongo({ dataDir: await temporaryDirectory(t), env, logger });
  t.teardown(() => mongo.stop());
  t.equal(mongo.kind, 'mongod');
  const client = await connect(t, mongo.uri);
  await client.db('test').collection('writes').insertOne({ kept: true }, JOURNALLED);

  const pid = pidOf(mongo);
  const guard = parentOf(pid);
  t.not(guard, process.pid);
  process.kill(guard, 'SIGKILL');
  t.ok(await becomes(() => mongo.pid !== undefined && mongo.pid !== pid, 5_000), 'there is a new process');
  t.notOk(isAlive(pid), 'the old one is gone');
  t.match(await client.db('test').collection('writes').findOne(), { kept: true });
  const next = pidOf(mongo);
  await mongo.stop();
  t.notOk(isAlive(next));
});

t.test('kill -9 of the process that started mongod ends mongod', { skip }, async (t) => {
  const holder = await startHolder(t, await temporaryDirectory(t), await withStandIn(t));
  holder.process.kill('SIGKILL');
  t.ok(await becomes(() => !isAlive(holder.pid), 2_000));
});

t.test('data that another mongod has open is not used', { skip }, async (t) => {
  const dataDir = await temporaryDirectory(t);
  const env = await withStandIn(t);
  const holder = await startHolder(t, dataDir, env);
  const { logger } = recordingLogger();
  await t.rejects(startLocalMongo({ dataDir, env, logger }), {
    constructor: DataInUseError,
    message: /^Another process/,
  });
  const client = await connect(t, holder.uri);
  t.match(await client.db('admin').command({ ping: 1 }), { ok: 1 });
});
