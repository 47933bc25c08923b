import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { KeyList } from '@gatehouse/core/sealing';
import { StartError } from './start-error.ts';

const KEY_FILE = 'master.key';
export const DEMO_FILE = 'demo.json';
/** The same until the first start is ready. */
export const PENDING_DEMO_FILE = 'demo.json.pending';
/** The URI of the database while npm start runs. */
export const URI_FILE = 'mongodb.uri';
/** The files of npm start in the data directory, besides the database. */
export const DATA_FILES = [DEMO_FILE, PENDING_DEMO_FILE, KEY_FILE, URI_FILE];
export const MONGODB_DIRECTORY = 'mongodb';
/** The directory for mails, which are not sent. */
export const OUTBOX_DIRECTORY = 'outbox';
const WRITE_TEST = '.write-test';

/** Creates the data directory, for its owner only. Throws a StartError when it is not writable. */
export async function prepareDataDir(dataDir: string): Promise<void> {
  try {
    await makeDirectory(dataDir);
    await writePrivateFile(join(dataDir, WRITE_TEST), '');
    await unlink(join(dataDir, WRITE_TEST));
  } catch (error) {
    throw new StartError(
      `The data directory ${dataDir} cannot be written to (${(error as NodeJS.ErrnoException).code}): ` +
        'set DATA_DIR to a directory that can.',
      { cause: error },
    );
  }
}

/** Creates a directory and its missing parents. Node's `recursive` option never returns below /proc. */
async function makeDirectory(directory: string): Promise<void> {
  const make = () => mkdir(directory, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // If it is not a directory, writing a file to it fails later.
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || directory === dirname(directory)) throw error;
    await makeDirectory(dirname(directory));
    await make();
  }
}

/** The keys (32 bytes each, separated by commas) that encrypt the signing keys. One is generated at the first start. */
export async function readMasterKeys(dataDir: string): Promise<KeyList> {
  const file = join(dataDir, KEY_FILE);
  const existing = await readIfThere(file);
  if (existing !== undefined) {
    const [inUse, ...accepted] = existing.split(',').map((text) => Buffer.from(text.trim(), 'hex'));
    if (inUse === undefined || [inUse, ...accepted].some(({ length }) => length !== 32)) {
      throw new StartError(`${file} does not hold a key: put the right one back.`);
    }
    return [inUse, ...accepted];
  }
  requireNoDatabase(dataDir, file);
  const key = randomBytes(32);
  await writePrivateFile(file, `${key.toString('hex')}\n`);
  return [key];
}

/** Throws when there is a database: the file belongs to it and cannot be replaced. */
export function requireNoDatabase(dataDir: string, file: string): void {
  if (!existsSync(join(dataDir, MONGODB_DIRECTORY))) return;
  throw new StartError(
    `${file} is gone, and the database was made with it: put it back, or start over with npm run reset.`,
  );
}

export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes a file with mode 0600 atomically: a crash leaves either the old or the new content. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
}
