import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Catalogue } from '@gatehouse/web/language';
import t from 'tap';
import { LANGUAGES, languageOf } from '../../src/texts/languages.ts';

const root = join(import.meta.dirname, '../../../..');
const sources = ['packages/web/src/*.ts', 'services/identity/src/**/*.ts']
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .map((path) => readFileSync(join(root, path), 'utf8'));
const { catalogue: german } = languageOf('de');
const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort();
const formsOf = (message: Catalogue[string] = '') =>
  typeof message === 'string' ? [message] : Object.values(message);

t.test('every text of the source is in the catalogues', async (t) => {
  const texts = sources.flatMap((source) =>
    [...source.matchAll(/(?<![\w.])t\(\s*'((?:[^'\\]|\\.)*)'/g)].map(([, text = '']) =>
      text.replaceAll('\\', ''),
    ),
  );
  t.ok(texts.length > 100, `${texts.length} texts`);
  for (const text of texts) t.ok(Object.hasOwn(german, text), text);
});

t.test('every text of the catalogues is in the source', async (t) => {
  // The source may have the name of a constant in the place of a number.
  const plain = (text: string) => text.replaceAll('\\', '').replaceAll(/\$\{[A-Z_]+\}|\d+/g, '#');
  const source = plain(sources.join('\n'));
  for (const text of Object.keys(german)) t.ok(source.includes(plain(text)) || isOfErrors(text), text);
});

for (const tag of LANGUAGES) {
  const { catalogue, direction, formats } = languageOf(tag);
  t.test(tag, async (t) => {
    t.equal(direction, 'ltr');
    const missing = Object.keys(german).filter((text) => tag !== 'en' && !Object.hasOwn(catalogue, text));
    t.strictSame(missing, [], 'no text is missing');
    const more = Object.keys(catalogue).filter((text) => !Object.hasOwn(german, text));
    t.strictSame(more, [], 'no text is left over');
    const plurals = Array.from({ length: 1000 }, (_, count) => formats.plural.select(count));
    for (const [text, message] of Object.entries(catalogue)) {
      for (const form of formsOf(message)) t.match(form, /^\S(?:.*\S)?$/, text);
      if (typeof message === 'string') t.strictSame(placeholders(message), placeholders(text), text);
      else {
        t.strictSame(Object.keys(message).sort(), [...new Set(plurals)].sort(), `all forms of: ${text}`);
        t.strictSame(placeholders(message.other), placeholders(text), text);
        t.match(text, '{count}', 'what depends on a number has it');
      }
    }
  });
}

t.test('a text with a plural in any language has one in English', async (t) => {
  for (const [text, message] of Object.entries(german)) {
    t.equal(typeof languageOf('en').catalogue[text] === 'object', typeof message === 'object', text);
  }
});

/** The sentences about fields, whose ends are messages of the users service. */
function isOfErrors(text: string): boolean {
  return /^The [\w ]+ (?:must|may|is) .*\.$/.test(text);
}
