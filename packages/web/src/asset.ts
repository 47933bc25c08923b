import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A file for browsers, as text. Its path contains a hash of its content, so it may be cached for ever. */
export type Asset = { path: string; text: string };

/** The content of files, one after the other, as NAME.HASH.EXTENSION below `directory`; `change` makes the text of it. */
export function createAsset(
  directory: string,
  name: string,
  files: readonly URL[],
  change: (text: string) => string = (text) => text,
): Asset {
  const text = change(files.map((file) => readFileSync(file, 'utf8')).join('\n'));
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  return { path: `${directory}/${name.replace(/(?=\.\w+$)/, `.${hash}`)}`, text };
}
