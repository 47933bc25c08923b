import { globSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '../../..');
const DOCUMENT = readFileSync(resolve(ROOT, 'docs/architecture.md'), 'utf8');

/** The cells of each row of a table whose first cell is a path below `folder`. */
function rowsOf(folder: string): string[][] {
  const rows = DOCUMENT.split('\n').filter((line) => line.startsWith(`| \`${folder}/`));
  return rows.map((line) => line.split('|').map((cell) => cell.trim().replace(/^`|`$/g, '')));
}

for (const folder of ['packages', 'services']) {
  t.test(`docs/architecture.md lists all ${folder}`, async (t) => {
    const listed = rowsOf(folder).map(([, path]) => path);
    t.same(listed.toSorted(), globSync(`${folder}/*/package.json`, { cwd: ROOT }).map(dirname).sort());
  });
}

t.test('docs/architecture.md says what each package imports, and lists it below those', async (t) => {
  const above: string[] = [];
  for (const [, path = '', , imports = ''] of rowsOf('packages')) {
    const { dependencies = {} } = JSON.parse(readFileSync(resolve(ROOT, path, 'package.json'), 'utf8'));
    const packages = Object.keys(dependencies).filter((name) => name.startsWith('@gatehouse/'));
    const listed = imports === '–' ? [] : imports.split(', ');
    t.same(listed.map((name) => `@gatehouse/${name}`).toSorted(), packages.sort(), path);
    t.ok(
      listed.every((name) => above.includes(`packages/${name}`)),
      `${path} is below what it imports`,
    );
    above.push(path);
  }
});
