import { resolve } from 'node:path';
import t from 'tap';
import { readSources } from '../src/import-rules.ts';

/** Words in place of a noun or a date, which leave a reader guessing. */
const RIDDLES = [
  'just now',
  'what you sent',
  'has these words',
  'what is high',
  'as far as is known to',
  'counts against no',
  'not part of it',
  'is paused within',
];

t.test('what people read says its nouns', async (t) => {
  const sources = readSources(resolve(import.meta.dirname, '../../..'));
  const read = sources.filter(({ path }) => /^(?:services|packages)\/[\w-]+\/src\//.test(path));
  t.ok(read.length > 300, `${read.length} files`);
  for (const { path, text } of read) {
    const lines = text.split('\n').filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line));
    for (const words of RIDDLES) {
      const found = lines.filter((line) => line.toLowerCase().includes(words) && /['"`<>]/.test(line));
      t.same(found, [], `${path}: ${words}`);
    }
  }
});
