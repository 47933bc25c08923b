/** Set by the runner for `npm run test:full`. */
export const FULL_TESTS_VARIABLE = 'GATEHOUSE_FULL_TESTS';

/**
 * How often a test repeats what only chance brings to light: `full` in a full run, else a fifth of that, or, where each
 * time costs much, another `part`.
 */
export function repetitions(full: number, part = 1 / 5): number {
  return process.env[FULL_TESTS_VARIABLE] === undefined ? Math.ceil(full * part) : full;
}

/** Set by the developer, for `npm run test:full` with as many rows, jobs and requests as the tests are about. */
export const SCALE_VARIABLE = 'GATEHOUSE_TEST_SCALE';

/** How many of something a long test does: a tenth of `whole`, or with GATEHOUSE_TEST_SCALE=1 all, which takes hours. */
export function atScale(whole: number): number {
  return process.env[SCALE_VARIABLE] === '1' ? whole : Math.ceil(whole / 10);
}
