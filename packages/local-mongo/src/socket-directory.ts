import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FinalFailure } from './link.ts';

// A socket address holds 107 bytes on Linux and 103 on macOS.
const ADDRESS_BYTES = 103;
const LONGEST_NAME = 'mongodb-27017.sock';

/**
 * Makes the directory, of this user alone, for the socket of the database in `dataDirectory`: beside it, or
 * in the system's temporary directory when the path would be too long for a socket address.
 * @throws FinalFailure when what is there belongs to someone else.
 */
export async function makeSocketDirectory(dataDirectory: string): Promise<string> {
  const beside = `${dataDirectory}.sockets`;
  // mongod would take a comma for the end of an address.
  const fits = (path: string) =>
    Buffer.byteLength(join(path, LONGEST_NAME)) <= ADDRESS_BYTES && !path.includes(',');
  const name = `gatehouse-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 16)}`;
  // TMPDIR itself may be too long.
  const path = [beside, join(tmpdir(), name)].find(fits) ?? join('/tmp', name);
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  // Under /tmp anyone may have been there first, with a link or with a directory that they can enter.
  const entry = await lstat(path);
  if (!entry.isDirectory() || entry.uid !== process.getuid?.() || (entry.mode & 0o077) !== 0) {
    throw new FinalFailure(
      `${path}, the place of the database's socket, is not a directory of this user alone.`,
    );
  }
  return path;
}
