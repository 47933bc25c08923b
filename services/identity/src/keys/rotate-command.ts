import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gatehouse/kit/logger';
import { createDatabase } from '@gatehouse/mongo/database';
import { PUBLISHED_BEFORE_SIGNING, type Rotation, rotateSigningKeys } from './key-rotation.ts';
import { createSigningKeyStore } from './signing-key-store.ts';
import { createSigningKeySealer } from './signing-keys.ts';

/** What `npm run keys:rotate` does. Writes a line for each algorithm, or the failure, and returns the exit status. */
export async function rotateKeysCommand(options: {
  mongodbUri: string;
  masterKey: Buffer;
  compromised: boolean;
  write: (line: string) => void;
  /** How long to wait for the database. */
  maxWaitSeconds?: number;
}): Promise<number> {
  const { compromised, write, maxWaitSeconds = 10 } = options;
  const logger = createLogger({ name: 'keys', level: 'silent', readable: false });
  const database = createDatabase({ uri: options.mongodbUri, name: 'identity', logger });
  const store = createSigningKeyStore(database.connection);
  try {
    const connected = database.start().then(() => true);
    connected.catch(() => {});
    if (!(await Promise.race([connected, sleep(maxWaitSeconds * 1000, false, { ref: false })]))) {
      write('The database of the identity service cannot be reached.');
      return 1;
    }
    const sealer = createSigningKeySealer(options.masterKey);
    const { rotated } = await rotateSigningKeys(store, sealer, { compromised });
    for (const rotation of rotated) for (const line of report(rotation)) write(line);
    if (rotated.length === 0) write('Nothing to do: somebody else has just rotated the keys.');
    return 0;
  } catch (error) {
    write(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await database.stop();
  }
}

function report({ algorithm, retired, current, dropped, published }: Rotation): string[] {
  const fate =
    dropped.length === 0
      ? `${retired} stays published until what it has signed has expired.`
      : `dropped ${dropped.join(' and ')}, and running services refuse within seconds what was signed with it.`;
  const lines = [`${algorithm}: ${current} signs from now on, at running services within seconds; ${fate}`];
  if (published < PUBLISHED_BEFORE_SIGNING) {
    lines.push(
      `${algorithm}: warning: ${current} was first published ${published} seconds ago. Verifiers outside that keep ` +
        `keys without looking again may refuse its tokens for up to ${PUBLISHED_BEFORE_SIGNING / 60} minutes.`,
    );
  }
  return lines;
}
