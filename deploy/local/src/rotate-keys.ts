import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLogger } from '@gatehouse/core/logger';
import { DataInUseError, startLocalMongo } from '@gatehouse/local-mongo/start';
import { readOrExit } from '@gatehouse/server/process';
import { prepareDataDir, readIfThere, readMasterKeys, URI_FILE } from './data-dir.ts';
import { databaseUri } from './database-uri.ts';
import { readLocalSettings } from './settings.ts';
import { StartError } from './start-error.ts';

// `npm run keys:rotate [-- --compromised]` rotates the signing keys of npm start's database, and `npm run keys:reseal`
// seals them under the first key in master.key; both even while it runs.
const { dataDir, mongodbUri } = readOrExit(readLocalSettings);
try {
  await prepareDataDir(dataDir);
  const masterKeys = await readMasterKeys(dataDir);
  const database = await openDatabase();
  const command = fileURLToPath(new URL('./keys/main.ts', import.meta.resolve('@gatehouse/identity')));
  const child = spawn(process.execPath, [command, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: {
      ...process.env,
      IDENTITY_MONGODB_URI: databaseUri(database.uri, 'identity'),
      IDENTITY_MASTER_KEY: masterKeys.map((key) => key.toString('hex')).join(),
    },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  await database.stop();
  process.exitCode = code ?? 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

/** The database of the npm start that runs on this directory, or a new one if none does. */
async function openDatabase(): Promise<{ uri: string; stop(): Promise<void> }> {
  const logger = createLogger({ name: 'keys', level: 'silent', readable: false });
  try {
    return await startLocalMongo({ uri: mongodbUri, dataDir, env: process.env, logger });
  } catch (error) {
    if (!(error instanceof DataInUseError)) throw error;
    const uri = await readIfThere(join(dataDir, URI_FILE));
    if (uri === undefined) throw new StartError(`npm start is still starting on ${dataDir}: try again.`);
    return { uri: uri.trim(), stop: async () => {} };
  }
}
