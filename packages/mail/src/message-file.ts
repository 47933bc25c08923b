import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@gatehouse/core/ids';

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

/** Removes all messages of this kind but the newest. */
export async function removeOldest(
  directory: string,
  { kind, keep }: { kind: string; keep: number },
): Promise<void> {
  // Their names begin with the time.
  const files = (await readdir(directory)).filter((name) => name.includes(`-${kind}_`)).sort();
  for (const name of files.slice(0, -keep)) await rm(join(directory, name), { force: true });
}
