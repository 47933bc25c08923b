/** Set by the runner for `npm run test:nightly`. */
export const NIGHTLY_VARIABLE = 'GATEHOUSE_NIGHTLY_TESTS';

/**
 * How often a test repeats a check that fails only by chance: `whole` in `npm run test:nightly`, else a fifth of that, or, if each
 * repetition is slow, another `part`.
 */
export function repetitions(whole: number, part = 1 / 5): number {
  return process.env[NIGHTLY_VARIABLE] === undefined ? Math.ceil(whole * part) : whole;
}

/** Set by the developer, for `npm run test:nightly` with as many rows, jobs and requests as the tests are about. */
export const SCALE_VARIABLE = 'GATEHOUSE_TEST_SCALE';

/** The size of a long test: a fiftieth of `whole`, at night a tenth, or with GATEHOUSE_TEST_SCALE=1 all, which takes hours. */
export function atScale(whole: number): number {
  return process.env[SCALE_VARIABLE] === '1' ? whole : repetitions(Math.ceil(whole / 10));
}
