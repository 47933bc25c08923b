import { parseArgs } from 'node:util';
import { keys256, readSettings, url } from '@gatehouse/core/config';
import { readOrExit } from '@gatehouse/server/process';
import { sealedAuthenticatorApps } from '../features/authenticator-app/resealing.ts';
import { sealedProviderSecrets } from '../features/identity-providers/resealing.ts';
import { type KeysTask, keysCommand } from './keys-command.ts';

// `node services/identity/src/keys/main.ts` rotates the signing keys of a deployment. With --compromised, what was signed
// with the old keys becomes invalid. With --reseal, they stay, and are sealed under the first key of IDENTITY_MASTER_KEY.
const task = readTask();
const settings = readOrExit((env) =>
  readSettings(
    {
      mongodbUri: url('IDENTITY_MONGODB_URI', ['mongodb:', 'mongodb+srv:']),
      masterKeys: keys256('IDENTITY_MASTER_KEY'),
    },
    env,
  ),
);
process.exitCode = await keysCommand({
  ...settings,
  task,
  sealed: [sealedAuthenticatorApps, sealedProviderSecrets],
  write: (line) => process.stdout.write(`${line}\n`),
});

function readTask(): KeysTask {
  const flag = { type: 'boolean', default: false } as const;
  try {
    const { compromised, reseal } = parseArgs({ options: { compromised: flag, reseal: flag } }).values;
    if (compromised && reseal) throw new Error('The options exclude each other.');
    if (reseal) return 'reseal';
    return compromised ? 'rotate compromised' : 'rotate';
  } catch (error) {
    const problem = (error as Error).message.split('.')[0];
    process.stderr.write(`${problem}: the only options are --compromised and --reseal, one at a time.\n`);
    process.exit(1);
  }
}
