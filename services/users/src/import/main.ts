import { once } from 'node:events';
import { readSettings } from '@gatehouse/core/config';
import { readOrExit } from '@gatehouse/server/process';
import { mongodbUriSetting, serverSettings } from '@gatehouse/server/service-settings';
import { importCommand } from './import-command.ts';

// `node services/users/src/import/main.ts --from keycloak FILE` imports accounts into the database of a deployment.
const settings = readOrExit((env) =>
  readSettings(
    { mongodbUri: mongodbUriSetting('users'), migrateAtStart: serverSettings.migrateAtStart },
    env,
  ),
);
process.exitCode = await importCommand({
  ...settings,
  args: process.argv.slice(2),
  input: process.stdin,
  async write(text) {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  },
  log: (text) => process.stderr.write(text),
});
