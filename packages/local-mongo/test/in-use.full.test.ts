import t from 'tap';
import { DataInUseError, startLocalMongo } from '../src/start.ts';
import { connect, recordingLogger, temporaryDirectory } from './fixture.ts';
import { startHolder } from './holder.ts';

const { env } = process;

t.test('data that another process has open is refused, and the other is not disturbed', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const holder = await startHolder(t, dataDir);
  const client = await connect(t, holder.uri);
  const { logger } = recordingLogger();
  await t.rejects(startLocalMongo({ dataDir, env, logger }), {
    constructor: DataInUseError,
    message:
      /^Another process, .* is using the MongoDB data in .*\. Stop it, or use another data directory\.$/,
  });
  t.match(await client.db('admin').command({ ping: 1 }), { ok: 1 }, 'an open connection');
  const another = await connect(t, holder.uri);
  t.match(await another.db('admin').command({ ping: 1 }), { ok: 1 }, 'a new connection');
});
