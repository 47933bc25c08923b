import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gatehouse/core/logger';
import type { KeyList, Sealer } from '@gatehouse/core/sealing';
import { createDatabase } from '@gatehouse/data/database';
import type { Connection } from 'mongoose';
import { PUBLISHED_BEFORE_SIGNING, type Rotation, rotateSigningKeys } from './key-rotation.ts';
import { createSigningKeyStore } from './signing-key-store.ts';
import { createSigningKeySealer, type KeyRing, openRing, type SigningKeyStore } from './signing-keys.ts';

/**
 * The task for the signing keys: rotate them, rotate them because they may have leaked, or seal them under the
 * master key in use.
 */
export type KeysTask = 'rotate' | 'rotate compromised' | 'reseal';

/** Secrets that a feature stores under the master keys. `reseal` returns how many there are; it may be repeated. */
export type SealedSecrets = {
  /** In the plural. */
  name: string;
  reseal(connection: Connection, masterKeys: KeyList): Promise<number>;
};

/** The commands `npm run keys:rotate` and `keys:reseal`. Writes the changes, or the failure, and returns the exit status. */
export async function keysCommand(options: {
  task: KeysTask;
  mongodbUri: string;
  masterKeys: KeyList;
  write: (line: string) => void;
  /** The other secrets that are sealed under the master keys. */
  sealed?: readonly SealedSecrets[];
  /** How long to wait for the database. */
  maxWaitSeconds?: number;
}): Promise<number> {
  const { task, write, maxWaitSeconds = 10 } = options;
  const logger = createLogger({ name: 'keys', level: 'silent', readable: false });
  const database = createDatabase({ uri: options.mongodbUri, name: 'identity', logger });
  const store = createSigningKeyStore(database.connection);

  async function resealOthers(): Promise<string[]> {
    const lines: string[] = [];
    for (const it of options.sealed ?? []) {
      const count = await it.reseal(database.connection, options.masterKeys);
      lines.push(`All ${count} ${it.name} are sealed under it, too.`);
    }
    return lines;
  }

  try {
    const connected = database.start().then(() => true);
    connected.catch(() => {});
    if (!(await Promise.race([connected, sleep(maxWaitSeconds * 1000, false, { ref: false })]))) {
      write('The database of the identity service cannot be reached.');
      return 1;
    }
    const sealer = createSigningKeySealer(options.masterKeys);
    const lines =
      task === 'reseal'
        ? [...(await reseal(store, sealer)), ...(await resealOthers())]
        : await rotate(store, sealer, task === 'rotate compromised');
    for (const line of lines) write(line);
    return 0;
  } catch (error) {
    write(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await database.stop();
  }
}

async function reseal(store: SigningKeyStore, sealer: Sealer): Promise<string[]> {
  const count = await resealSigningKeys(store, sealer);
  return [
    `All ${count} signing keys are sealed under the first master key: the others are no longer needed.`,
  ];
}

async function rotate(store: SigningKeyStore, sealer: Sealer, compromised: boolean): Promise<string[]> {
  const { rotated } = await rotateSigningKeys(store, sealer, { compromised });
  return rotated.length === 0
    ? ['Nothing to do: somebody else has just rotated the keys.']
    : rotated.flatMap(report);
}

function report({ algorithm, retired, current, dropped, published }: Rotation): string[] {
  const fate =
    dropped.length === 0
      ? `${retired} stays published until the tokens that it signed have expired.`
      : `dropped ${dropped.join(', ')}: within seconds, running services refuse tokens that they signed.`;
  const lines = [`${algorithm}: ${current} signs from now on, at running services within seconds; ${fate}`];
  if (published < PUBLISHED_BEFORE_SIGNING) {
    lines.push(
      `${algorithm}: warning: ${current} was first published ${published} seconds ago. Verifiers outside that keep ` +
        `keys without looking again may refuse its tokens for up to ${PUBLISHED_BEFORE_SIGNING / 60} minutes.`,
    );
  }
  return lines;
}

/**
 * Seals all stored keys under the master key in use, so that the others are needed no longer, and returns how many there
 * are. May be repeated. Throws when one of them was sealed under none of the master keys.
 */
export async function resealSigningKeys(store: SigningKeyStore, sealer: Sealer): Promise<number> {
  const rings = await store.all();
  // Nothing is written unless everything can be opened.
  for (const ring of rings) openRing(ring, sealer);
  const counts = await Promise.all(rings.map((ring) => resealRing(store, sealer, ring)));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function resealRing(store: SigningKeyStore, sealer: Sealer, seen: KeyRing): Promise<number> {
  for (let ring: KeyRing | undefined = seen; ring !== undefined; ) {
    const keys = ring.keys.map((key) => ({
      ...key,
      sealed: sealer.seal(sealer.open(key.sealed, key.kid), key.kid),
    }));
    if (await store.replace({ ...ring, version: ring.version + 1, keys })) return keys.length;
    // Others have rotated at the same moment.
    ring = (await store.all()).find(({ algorithm }) => algorithm === seen.algorithm);
  }
  return 0;
}
