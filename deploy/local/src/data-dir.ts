import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartFailure } from './failure.ts';

const KEY_FILE = 'master.key';
export const DEMO_FILE = 'demo.json';
/** How the database is reached while npm start runs. */
export const URI_FILE = 'mongodb.uri';
/** What npm start keeps in the data directory, beside the database. */
export const DATA_FILES = [DEMO_FILE, KEY_FILE, URI_FILE];
export const MONGODB_DIRECTORY = 'mongodb';
/** Where mails are kept instead of being sent. */
export const OUTBOX_DIRECTORY = 'outbox';
const WRITE_TEST = '.write-test';

/** Makes the data directory, for its owner only. Throws a StartFailure when it cannot be written to. */
export async function prepareDataDir(dataDir: string): Promise<void> {
  try {
    await makeDirectory(dataDir);
    await writePrivateFile(join(dataDir, WRITE_TEST), '');
    await unlink(join(dataDir, WRITE_TEST));
  } catch (error) {
    throw new StartFailure(
      `The data directory ${dataDir} cannot be written to (${(error as NodeJS.ErrnoException).code}): ` +
        'set DATA_DIR to a directory that can.',
      { cause: error },
    );
  }
}

/** Makes a directory and what is missing above it. Node's own `recursive` never returns below /proc. */
async function makeDirectory(directory: string): Promise<void> {
  const make = () => mkdir(directory, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // That it exists is fine; whether it is a directory shows when a file is written to it.
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || directory === dirname(directory)) throw error;
    await makeDirectory(dirname(directory));
    await make();
  }
}

/** The key that signing keys are sealed under: made at the first start, 32 bytes. */
export async function readMasterKey(dataDir: string): Promise<Buffer> {
  const file = join(dataDir, KEY_FILE);
  const existing = await readIfThere(file);
  if (existing !== undefined) {
    const key = Buffer.from(existing.trim(), 'hex');
    if (key.length !== 32) throw new StartFailure(`${file} does not hold a key: put the right one back.`);
    return key;
  }
  refuseWithData(dataDir, file);
  const key = randomBytes(32);
  await writePrivateFile(file, `${key.toString('hex')}\n`);
  return key;
}

/** Throws when there is a database already: the file belongs to it, and a new one would not fit. */
export function refuseWithData(dataDir: string, file: string): void {
  if (!existsSync(join(dataDir, MONGODB_DIRECTORY))) return;
  throw new StartFailure(
    `${file} is gone, and the database was made with it: put it back, or begin anew with npm run reset.`,
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

/** Writes a file with mode 0600, whole or not at all: a crash leaves the old one or the new one. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const fresh = `${file}.${process.pid}`;
  const handle = await open(fresh, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}
