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
  'one’s own',
  'of what was',
  'what it may ask',
];
/** A text that begins without its noun, such as "What it may ask for." */
const NOUNLESS = /['"`](?:What|Whoever|Of what|That of|Those of|Is told|Are told)\b[^'"`?]*\.['"`]/;

/** A comment that begins with a relative clause instead of its noun, such as "Who makes a request." */
const NOUNLESS_COMMENT = /^\s*(?:\/\*\*|\*|\/\/) (?:Who|What|Whoever|Whose|Whom) [a-z]/;

/** Private names, each with the one that replaced it in CONTRIBUTING.md. */
const PRIVATE_NAMES =
  /\b(?:patiently|allEnded|sendAway|leadTo|ofMails|aboutChanges|strengthen|whyNot|whoIs|giveWay|turn(?:ed)?Away|ofNobody|unlessUnreadable)\b/;

t.test('names are those that an engineer searches for', async (t) => {
  for (const { path, text } of readSources(resolve(import.meta.dirname, '../../..')))
    if (!path.endsWith('plain-words.test.ts')) t.notMatch(text, PRIVATE_NAMES, path);
});

t.test('texts for people name their subject', async (t) => {
  const sources = readSources(resolve(import.meta.dirname, '../../..'));
  const read = sources.filter(({ path }) => /^(?:services|packages)\/[\w-]+\/src\//.test(path));
  t.ok(read.length > 300, `${read.length} files`);
  for (const { path, text } of read) {
    const lines = text.split('\n').filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line));
    t.same(
      lines.filter((line) => NOUNLESS.test(line)),
      [],
      path,
    );
    for (const words of RIDDLES) {
      const found = lines.filter((line) => line.toLowerCase().includes(words) && /['"`<>]/.test(line));
      t.same(found, [], `${path}: ${words}`);
    }
  }
});

t.test('comments begin with their nouns', async (t) => {
  const sources = readSources(resolve(import.meta.dirname, '../../..'));
  const read = sources.filter(({ path }) =>
    /^(?:(?:services|packages)\/[\w-]+|deploy\/local)\/src\//.test(path),
  );
  t.ok(read.length > 300, `${read.length} files`);
  const found = read.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line) => (NOUNLESS_COMMENT.test(line) ? [`${path}: ${line.trim()}`] : [])),
  );
  t.same(found, []);
});
