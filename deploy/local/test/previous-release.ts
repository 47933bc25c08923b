import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryDir } from './gatehouse.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/**
 * The sources of the release before this version: of the latest tag, or, before there is one, of the commit before the first
 * migration of the latest data version. Throws a sentence when this clone does not have them.
 */
export function previousRelease(t: { teardown(action: () => unknown): void }): {
  root: string;
  name: string;
} {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  let name: string;
  const root = temporaryDir(t);
  try {
    name = git('tag', '--list', 'v*', '--merged', 'HEAD~1', '--sort=-v:refname').split('\n')[0] ?? '';
    if (name === '') {
      const migrations = 'services/*migrations.ts';
      const versions = git('grep', '-hoE', 'version: [0-9]+,', '--', migrations).split('\n');
      const latest = versions.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1) ?? '';
      const changed = git('log', '--format=%H', '-G', latest, '--', migrations).split('\n').at(-1);
      name = git('rev-parse', '--verify', `${changed}^`);
    }
    const archive = join(root, 'sources.tar');
    git('archive', '--output', archive, name);
    mkdirSync(join(root, 'sources'));
    execFileSync('tar', ['-xf', archive, '-C', join(root, 'sources')]);
  } catch {
    throw new Error('the sources of the release before are not in this clone');
  }
  const sources = join(root, 'sources');
  const installed = spawnSync(process.execPath, ['deploy/local/bootstrap.mjs', '--version'], {
    cwd: sources,
  });
  if (installed.status !== 0)
    throw new Error('the dependencies of the release before could not be installed');
  return { root: sources, name };
}
