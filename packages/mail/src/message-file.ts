import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@gatehouse/kit/ids';

/** Writes a message to a new file that only its owner can read, `<time>-<kind>_<id>.txt`. Returns its path. */
export async function writeMessageFile(
  directory: string,
  { now, kind, content }: { now: Date; kind: string; content: string },
): Promise<string> {
  const name = `${now.toISOString().replaceAll(':', '-')}-${newId(kind)}.txt`;
  const file = join(directory, name);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // It gets its name once it is complete.
  const unfinished = join(directory, `.${name}`);
  await writeFile(unfinished, content, { mode: 0o600, flag: 'wx' });
  await rename(unfinished, file);
  return file;
}
