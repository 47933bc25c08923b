/** Set by the runner for `npm run test:full`. */
export const FULL_TESTS_VARIABLE = 'GATEHOUSE_FULL_TESTS';

/** How often a test repeats what only chance brings to light: `full` in a full run, else a fifth of that. */
export function repetitions(full: number): number {
  return process.env[FULL_TESTS_VARIABLE] === undefined ? Math.ceil(full / 5) : full;
}
