import { parseArgs } from 'node:util';
import { key256, readSettings, url } from '@gatehouse/kit/config';
import { readOrExit } from '@gatehouse/kit/process';
import { rotateKeysCommand } from './rotate-command.ts';

// `node services/identity/src/keys/main.ts [--compromised]` rotates the signing keys of a deployment. With
// --compromised, what was signed with the old keys becomes invalid.
const values = readArguments();
const settings = readOrExit((env) =>
  readSettings(
    {
      mongodbUri: url('IDENTITY_MONGODB_URI', ['mongodb:', 'mongodb+srv:']),
      masterKey: key256('IDENTITY_MASTER_KEY'),
    },
    env,
  ),
);
process.exitCode = await rotateKeysCommand({
  ...settings,
  compromised: values.compromised,
  write: (line) => process.stdout.write(`${line}\n`),
});

function readArguments(): { compromised: boolean } {
  try {
    return parseArgs({ options: { compromised: { type: 'boolean', default: false } } }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message.split('.')[0]}: the only option is --compromised.\n`);
    process.exit(1);
  }
}
