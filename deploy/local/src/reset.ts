import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { readOrExit } from '@gatehouse/kit/process';
import { readIfThere } from './data-dir.ts';
import { demoFile } from './demo.ts';
import { readLocalSettings } from './settings.ts';

// `npm run reset`: forgets everything that npm start has made in DATA_DIR.
const { dataDir } = readOrExit(readLocalSettings);

if (!existsSync(dataDir)) say(0, `There is nothing to forget: ${dataDir} does not exist.`);
// A mistyped DATA_DIR must not cost anybody their files.
if (!existsSync(join(dataDir, 'master.key')) && !existsSync(demoFile(dataDir))) {
  say(1, `${dataDir} does not look like a data directory of npm start: nothing was removed.`);
}
if (await isServed()) say(1, `npm start is running on ${dataDir}: stop it first. Nothing was removed.`);
await rm(dataDir, { recursive: true, force: true });
say(0, `Removed ${dataDir}: the next npm start begins anew.`);

/** Whether something listens where the last start did. */
async function isServed(): Promise<boolean> {
  const demo = await readIfThere(demoFile(dataDir));
  const url = URL.parse((JSON.parse(demo ?? '{}') as { base_url?: string }).base_url ?? '');
  if (url === null) return false;
  return new Promise((resolve) => {
    const socket = connect(Number(url.port || 80), url.hostname);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

function say(status: number, sentence: string): never {
  process.stdout.write(`${sentence}\n`);
  process.exit(status);
}
