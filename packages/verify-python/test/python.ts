import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const PACKAGE = resolve(import.meta.dirname, '..');
const BUILD = ['hatchling', 'httpx>=0.27,<1', 'joserfc>=1.4,<2'];

/** A virtual environment with this package and others, until the test ends; or the reason why there is none. */
export function installPackage(
  t: { teardown(fn: () => void): void },
  others: readonly string[] = [],
): { python: string } | { reason: string } {
  const isNewEnough = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';
  if (spawnSync('python3', ['-c', isNewEnough]).status !== 0)
    return { reason: 'there is no Python 3.10 with venv' };
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-verify-python-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const python = join(directory, 'bin', 'python');
  const run = (program: string, ...rest: string[]) => spawnSync(program, rest, { encoding: 'utf8' });
  run('python3', '-m', 'venv', directory);
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  if (run(python, ...install, ...BUILD, ...others).status !== 0)
    return { reason: 'pip cannot install the dependencies' };
  const { status, stderr } = run(python, ...install, '--no-deps', '--no-build-isolation', PACKAGE);
  if (status !== 0) throw new Error(`pip cannot install the package: ${stderr}`);
  return { python };
}

/** Runs a file of unit tests; resolves to its output and whether they passed. */
export async function runUnitTests(
  python: string,
  file: string,
): Promise<{ passed: boolean; output: string }> {
  const child = spawn(python, ['-B', '-m', 'unittest', 'discover', '-s', import.meta.dirname, '-p', file]);
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
  const { promise, resolve: end } = Promise.withResolvers<number | null>();
  child.on('close', end);
  return { passed: (await promise) === 0, output: Buffer.concat(output).toString() };
}
