import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '@gatehouse/core/version';
import t from 'tap';
import { releaseNotes } from '../src/release/release-notes.ts';

const ROOT = join(import.meta.dirname, '../../..');
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

t.test('the manifests that are published have the version of the release', async (t) => {
  t.match(VERSION, /^\d+\.\d+\.\d+$/);
  for (const path of ['package.json', 'packages/verify/package.json'])
    t.equal(JSON.parse(textOf(path)).version, VERSION, path);
  t.equal(/^version = "(.*)"$/m.exec(textOf('packages/verify-python/pyproject.toml'))?.[1], VERSION);
});

t.test('the notes of a release are its section of the changelog', async (t) => {
  const changelog =
    '# Changelog\n\n## [Unreleased]\n\n- Later\n\n## [0.2.0] - 2027-01-01\n\n- New\n\n## [0.1.0] - 2026-12-01\n\n- First\n';
  t.equal(releaseNotes(changelog, '0.2.0'), '- New');
  t.equal(releaseNotes(changelog, '0.1.0'), '- First');
  for (const version of ['Unreleased', '0.2', '0.3.0', '0x1.0'])
    t.equal(releaseNotes(changelog, version), undefined, version);
  t.ok(releaseNotes(textOf('CHANGELOG.md'), VERSION), 'this release has notes');
});
