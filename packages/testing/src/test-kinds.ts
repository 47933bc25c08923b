import { readFileSync } from 'node:fs';

/** The first line of a long test that fails when others take its time. */
const ALONE = '// Runs alone, as it measures time.\n';
/** Calls of long tests that measure their process, or wait for others. */
const OWN_PROCESS =
  /\b(?:(?:in|start)Chromium|spawn\w*|SIGKILL|memoryUsage|start(?:Cluster|Commerce|Gatehouse|LocalMongo|Server))\b/;

export type Kind = 'quick' | 'full' | 'nightly' | 'containers';

/** When a test file runs, by its name. */
export function kindOf(file: string): Kind {
  const [, kind] = /\.(full|nightly|containers)\.test\.ts$/.exec(file) ?? [];
  return (kind as Kind | undefined) ?? 'quick';
}

/** How long tests run: one at a time, beside others, or several in one process. */
export function placeOf(path: string): 'alone' | 'beside' | 'shared' {
  const text = readFileSync(path, 'utf8');
  if (text.startsWith(ALONE)) return 'alone';
  return OWN_PROCESS.test(text) ? 'beside' : 'shared';
}
