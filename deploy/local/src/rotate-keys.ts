import { readOrExit } from '@gatehouse/server/process';
import { prepareDataDir, readMasterKeys } from './data-dir.ts';
import { runOnDatabase } from './run-on-database.ts';
import { readLocalSettings } from './settings.ts';

// `npm run keys:rotate [-- --compromised]` rotates the signing keys of npm start's database, and `npm run keys:reseal`
// seals them under the first key in master.key; both even while it runs.
const settings = readOrExit(readLocalSettings);
try {
  await prepareDataDir(settings.dataDir);
  const masterKeys = await readMasterKeys(settings.dataDir);
  process.exitCode = await runOnDatabase(settings, {
    service: 'identity',
    script: './keys/main.ts',
    args: process.argv.slice(2),
    env: { IDENTITY_MASTER_KEY: masterKeys.map((key) => key.toString('hex')).join() },
  });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
