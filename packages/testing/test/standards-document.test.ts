import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '../../..');
const DOCUMENT = join(ROOT, 'docs/standards.md');

t.test('every row of docs/standards.md that implements something names tests that exist', async (t) => {
  const rows = readFileSync(DOCUMENT, 'utf8')
    .split('\n')
    .filter((line) => /^\| \[/.test(line));
  t.ok(rows.length > 25, `${rows.length} specifications`);
  for (const row of rows) {
    const [, specification = '', implemented = '', , tests = ''] = row.split(' | ').join('|').split('|');
    const links = [...tests.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
    t.match(specification, /\]\(https:\/\//, 'a specification is linked');
    if (implemented.trim() !== '') t.ok(links.length > 0, specification);
    for (const link of links) {
      t.match(link, /\.test\.ts$/);
      t.ok(existsSync(join(dirname(DOCUMENT), link)), link);
    }
  }
});

t.test('what documents link to in the repository exists', async (t) => {
  for (const document of ['docs/standards.md', 'docs/guides/integrators.md', 'README.md']) {
    const text = readFileSync(join(ROOT, document), 'utf8');
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      t.ok(existsSync(join(ROOT, dirname(document), link)), `${document}: ${link}`);
    }
  }
});
