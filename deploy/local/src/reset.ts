import { existsSync } from 'node:fs';
import { readdir, realpath, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createLogger } from '@gatehouse/kit/logger';
import { readOrExit } from '@gatehouse/kit/process';
import { DataInUseError, startLocalMongo } from '@gatehouse/local-mongo/start';
import { DATA_FILES, MONGODB_DIRECTORY, OUTBOX_DIRECTORY } from './data-dir.ts';
import { readLocalSettings } from './settings.ts';

// `npm run reset`: forgets everything that npm start has made in DATA_DIR, and touches nothing else in it: a
// mistyped DATA_DIR must not cost anybody their files.
const settings = readOrExit(readLocalSettings);
if (!existsSync(settings.dataDir)) say(0, `There is nothing to forget: ${settings.dataDir} does not exist.`);

const dataDir = await realpath(settings.dataDir);
const own = [...DATA_FILES, MONGODB_DIRECTORY, OUTBOX_DIRECTORY].filter((name) =>
  existsSync(join(dataDir, name)),
);
if (own.length === 0) say(0, `There is nothing to forget: npm start has made nothing in ${dataDir}.`);
if (own.includes(MONGODB_DIRECTORY) && (await isInUse())) {
  say(1, `npm start is running on ${dataDir}: stop it first. Nothing was removed.`);
}
for (const name of own) await rm(join(dataDir, name), { recursive: true });
if ((await readdir(dataDir)).length === 0) await rmdir(dataDir);
const elsewhere = settings.mongodbUri === undefined ? '' : ' The database of MONGODB_URI is as it was.';
say(0, `Removed ${own.join(', ')} of ${dataDir}: the next npm start begins anew.${elsewhere}`);

/** Whether somebody has the database open: only one process can, so it is tried. */
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

function say(status: number, sentence: string): never {
  process.stdout.write(`${sentence}\n`);
  process.exit(status);
}
