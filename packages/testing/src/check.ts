// `npm run check`: format, lint, types and import rules. All of them run, even when one fails.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findViolations, readSources } from './import-rules.ts';

const root = join(import.meta.dirname, '../../..');

// `biome ci` writes colours by default, which are noise in a log.
const colors = `--colors=${process.stdout.isTTY ? 'force' : 'off'}`;
const checks: [name: string, passes: () => boolean][] = [
  ['format and lint (biome)', () => run('biome', ['ci', colors, '.'])],
  // For a repository of this size one thread is faster than several, and takes a third of the memory.
  ['types (tsc)', () => run('tsc', ['-p', 'tsconfig.json', '--noEmit', '--singleThreaded'])],
  ['import rules', followsImportRules],
];

const failed = checks.filter(([, passes]) => !passes()).map(([name]) => name);
process.stdout.write(failed.length === 0 ? 'All checks passed.\n' : `Failed: ${failed.join(', ')}.\n`);
process.exitCode = failed.length === 0 ? 0 : 1;

function run(tool: string, args: string[]): boolean {
  const result = spawnSync(join(root, 'node_modules/.bin', tool), args, { cwd: root, stdio: 'inherit' });
  if (result.error) process.stderr.write(`${tool} does not start: ${result.error.message}\n`);
  return result.status === 0;
}

function followsImportRules(): boolean {
  const violations = findViolations(readSources(root));
  for (const violation of violations) process.stdout.write(`${violation}\n`);
  return violations.length === 0;
}
