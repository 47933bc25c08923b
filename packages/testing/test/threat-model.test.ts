import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '../../..');
/** Where paths begin that docs/threat-model.md does not write out. */
const FOLDERS = ['', 'services/identity/test'];

t.test('every promise of the threat model names tests that exist', async (t) => {
  const rows = readFileSync(join(ROOT, 'docs/threat-model.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| [A-Z"].+ \|$/.test(line));
  t.ok(rows.length > 30, `${rows.length} promises`);
  for (const row of rows) {
    const paths = row.match(/`[\w./-]+`/g)?.filter((path) => path.includes('test')) ?? [];
    if (!row.includes('pnpm-workspace.yaml')) t.ok(paths.length > 0, row);
    for (const path of paths.map((quoted) => quoted.slice(1, -1))) {
      t.ok(
        FOLDERS.some((folder) => existsSync(join(ROOT, folder, path))),
        path,
      );
    }
  }
});
