import t from 'tap';
import { type AppliedFile, appliedFileOf, isDryRun } from '../src/configuration-header.ts';

t.test('the header is a dictionary (RFC 9651), whose strings are no members', async (t) => {
  const cases: [header: string | undefined, isDryRun: boolean, file?: AppliedFile][] = [
    [undefined, false],
    ['dry-run', true],
    ['dry-run=?1', true],
    ['dry-run;why="x"', true],
    ['dry-run=?0', false],
    ['dry-runs', false],
    ['file="a.yaml", commit="3f2a91c", dry-run', true, { file: 'a.yaml', commit: '3f2a91c' }],
    ['dry-run, file="a.yaml"', true, { file: 'a.yaml' }],
    ['file="dry-run"', false, { file: 'dry-run' }],
    ['file="a, dry-run, b.yaml"', false, { file: 'a, dry-run, b.yaml' }],
    ['file="a\\", dry-run, b.yaml"', false],
    [`file="${'a'.repeat(201)}"`, false],
    ['file="a", commit="3F2A91C"', false, { file: 'a' }],
  ];
  for (const [header, dry, file] of cases) {
    const request = { headers: { 'gatehouse-configuration': header } };
    t.equal(isDryRun(request), dry, `${header}`);
    t.strictSame(appliedFileOf(request), file, `${header}`);
  }
});
