import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLogger } from '@gatehouse/core/logger';
import type { ServiceName } from '@gatehouse/core/services';
import { DataInUseError, startLocalMongo } from '@gatehouse/local-mongo/start';
import { readIfThere, URI_FILE } from './data-dir.ts';
import { databaseUri } from './database-uri.ts';
import type { LocalSettings } from './settings.ts';
import { StartError } from './start-error.ts';

/**
 * Runs a script of a service on npm start's database, even while that runs. Returns its exit status.
 *
 * @param options.script its path from the service's src
 * @param options.env adds to the environment, as does the URI of the service's database
 */
export async function runOnDatabase(
  settings: Pick<LocalSettings, 'dataDir' | 'mongodbUri'>,
  options: { service: ServiceName; script: string; args: readonly string[]; env?: Record<string, string> },
): Promise<number> {
  const { service, script, args, env } = options;
  const database = await openDatabase(settings);
  const command = fileURLToPath(new URL(script, import.meta.resolve(`@gatehouse/${service}`)));
  const child = spawn(process.execPath, [command, ...args], {
    stdio: 'inherit',
    env: {
      ...process.env,
      [`${service.toUpperCase()}_MONGODB_URI`]: databaseUri(database.uri, service),
      ...env,
    },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  await database.stop();
  return code ?? 1;
}

/** The database of the npm start that runs on this directory, or a new one if none does. */
async function openDatabase({
  dataDir,
  mongodbUri: uri,
}: Pick<LocalSettings, 'dataDir' | 'mongodbUri'>): Promise<{ uri: string; stop(): Promise<void> }> {
  const logger = createLogger({ name: 'command', level: 'silent', readable: false });
  try {
    return await startLocalMongo({ uri, dataDir, env: process.env, logger });
  } catch (error) {
    if (!(error instanceof DataInUseError)) throw error;
    const running = await readIfThere(join(dataDir, URI_FILE));
    if (running === undefined) throw new StartError(`npm start is still starting on ${dataDir}: try again.`);
    return { uri: running.trim(), stop: async () => {} };
  }
}
