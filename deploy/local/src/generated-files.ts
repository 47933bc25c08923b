import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');

/**
 * A file that a command writes, by its path in the repository; or a part of one, which is between a line with
 * `begin PART:` and one with `end PART`.
 */
export type GeneratedText = { path: string; part?: string; text: string };

/** The files as they should be, by their paths. Throws when one has no lines that enclose a part of it. */
export async function completeFiles(generated: readonly GeneratedText[]): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const { path, part, text } of generated) {
    files[path] =
      part === undefined
        ? text
        : replacePart(files[path] ?? (await readFile(join(ROOT, path), 'utf8')), { path, part, text });
  }
  return files;
}

function replacePart(file: string, { path, part, text }: Required<GeneratedText>): string {
  const lines = new RegExp(`(^.*\\bbegin ${part}:.*\\n)[\\s\\S]*?(^.*\\bend ${part}\\b)`, 'm');
  if (!lines.test(file)) throw new Error(`${path} has no lines "begin ${part}:" and "end ${part}"`);
  return file.replace(lines, (_, begin, end) => `${begin}${text}${end}`);
}

/** Writes the files to the repository. */
export async function writeFiles(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await writeFile(join(ROOT, path), text);
}
