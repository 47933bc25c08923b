import { readFileSync } from 'node:fs';

/** The first line of a long test that fails when others take its time. */
const ALONE = '// Runs alone, as it measures time.\n';
/** The first line of one that others do not wait for. */
const FIRST = '// Runs first, as it takes more than a minute.\n';
/** Calls of long tests that measure their process, or wait for others. */
const OWN_PROCESS =
  /\b(?:(?:in|start)Chromium|spawn\w*|SIGKILL|memoryUsage|start(?:Cluster|Commerce|Gatehouse|LocalMongo|Server))\b/;

export type Kind = 'quick' | 'full' | 'nightly' | 'containers';

/** When a test file runs, by its name. */
export function kindOf(file: string): Kind {
  const [, kind] = /\.(full|nightly|containers)\.test\.ts$/.exec(file) ?? [];
  return (kind as Kind | undefined) ?? 'quick';
}

/** How long tests run: one at a time, beside others from the start or later, or several in one process. */
export function placeOf(path: string): 'alone' | 'first' | 'beside' | 'shared' {
  const text = readFileSync(path, 'utf8');
  if (text.startsWith(ALONE)) return 'alone';
  if (text.startsWith(FIRST)) return 'first';
  return OWN_PROCESS.test(text) ? 'beside' : 'shared';
}
