import { existsSync } from 'node:fs';
import { readdir, realpath, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createLogger } from '@gatehouse/core/logger';
import { DataInUseError, startLocalMongo } from '@gatehouse/local-mongo/start';
import { readOrExit } from '@gatehouse/server/process';
import { DATA_FILES, MONGODB_DIRECTORY, OUTBOX_DIRECTORY } from './data-dir.ts';
import { readLocalSettings } from './settings.ts';

// `npm run reset`: deletes everything that npm start has created in DATA_DIR and nothing else, in case DATA_DIR is
// mistyped.
const settings = readOrExit(readLocalSettings);
if (!existsSync(settings.dataDir))
  exitWith(0, `There is nothing to forget: ${settings.dataDir} does not exist.`);

const dataDir = await realpath(settings.dataDir);
const own = [...DATA_FILES, MONGODB_DIRECTORY, OUTBOX_DIRECTORY].filter((name) =>
  existsSync(join(dataDir, name)),
);
if (own.length === 0) exitWith(0, `There is nothing to forget: npm start has created nothing in ${dataDir}.`);
if (own.includes(MONGODB_DIRECTORY) && (await isInUse())) {
  exitWith(1, `npm start is running on ${dataDir}: stop it first. Nothing was removed.`);
}
for (const name of own) await rm(join(dataDir, name), { recursive: true });
if ((await readdir(dataDir)).length === 0) await rmdir(dataDir);
const elsewhere = settings.mongodbUri === undefined ? '' : ' The database of MONGODB_URI is as it was.';
exitWith(0, `Removed ${own.join(', ')} of ${dataDir}: the next npm start starts over.${elsewhere}`);

/** Whether another process has the database open. Only one can, so this tries to open it. */
async function isInUse(): Promise<boolean> {
  const logger = createLogger({ name: 'reset', level: 'silent', readable: false });
  try {
    const mongo = await startLocalMongo({ dataDir, env: process.env, logger });
    await mongo.stop();
    return false;
  } catch (error) {
    return error instanceof DataInUseError;
  }
}

function exitWith(status: number, sentence: string): never {
  process.stdout.write(`${sentence}\n`);
  process.exit(status);
}
