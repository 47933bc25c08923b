import { existsSync, globSync, readFileSync } from 'node:fs';
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

t.test('links of documents to files and headings in the repository work', async (t) => {
  const documents = globSync(['*.md', 'docs/**/*.md', 'packages/*/guides/*.md'], { cwd: ROOT });
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
  t.ok(documents.length > 40, `${documents.length} documents`);
  for (const document of documents) {
    for (const [, markdown, attribute] of read(document).matchAll(
      /\]\((?!https?:)([^)\s]+)\)|(?:src|srcset)="(?!https?:)([^"]+)"/g,
    )) {
      const [path = '', anchor] = (markdown ?? attribute ?? '').split('#');
      const target = path === '' ? document : join(dirname(document), path);
      t.ok(existsSync(join(ROOT, target)), `${document}: ${path}`);
      if (anchor !== undefined)
        t.ok(anchorsOf(read(target)).includes(anchor), `${document}: ${path}#${anchor}`);
    }
  }
});

/** The anchors that GitHub gives the headings of a document. */
function anchorsOf(text: string): string[] {
  const withoutCode = text.replaceAll(/^```.*?^```$/gms, '');
  return [...withoutCode.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
