import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readOrExit } from '@gatehouse/server/process';
import { MONGODB_DIRECTORY } from './data-dir.ts';
import { runOnDatabase } from './run-on-database.ts';
import { readLocalSettings } from './settings.ts';
import { StartError } from './start-error.ts';

// `npm run import:users -- --from keycloak FILE` imports accounts into npm start's database, even while it runs.
const settings = readOrExit(readLocalSettings);
try {
  const { dataDir, mongodbUri } = settings;
  // The first start makes keys that belong to its database.
  if (mongodbUri === undefined && !existsSync(join(dataDir, MONGODB_DIRECTORY)))
    throw new StartError(`npm start has not run on ${dataDir} yet.`);
  process.exitCode = await runOnDatabase(settings, {
    service: 'users',
    script: './import/main.ts',
    args: process.argv.slice(2),
  });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
