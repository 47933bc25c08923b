import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FatalProviderError } from './provider.ts';

// A socket address holds 107 bytes on Linux and 103 on macOS.
const ADDRESS_BYTES = 103;
const LONGEST_NAME = 'mongodb-27017.sock';

/**
 * Creates a private directory for the socket of the database in `dataDirectory`: beside it, or in the system's temporary
 * directory if the path would be too long for a socket address.
 * @throws FatalProviderError when the path exists and is not a private directory of this user
 */
export async function makeSocketDirectory(dataDirectory: string): Promise<string> {
  const beside = `${dataDirectory}.sockets`;
  // mongod treats a comma as the end of an address.
  const fits = (path: string) =>
    Buffer.byteLength(join(path, LONGEST_NAME)) <= ADDRESS_BYTES && !path.includes(',');
  const name = `gatehouse-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 16)}`;
  // TMPDIR itself may be too long.
  const path = [beside, join(tmpdir(), name)].find(fits) ?? join('/tmp', name);
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  // Under /tmp another user may have created a symbolic link, or a directory that they can access.
  const entry = await lstat(path);
  if (!entry.isDirectory() || entry.uid !== process.getuid?.() || (entry.mode & 0o077) !== 0) {
    throw new FatalProviderError(
      `${path}, the directory of the database's socket, is not a private directory of this user.`,
    );
  }
  return path;
}
