/** About so many lines are drawn behind a chart. */
const LINES = 4;

/**
 * The values of the lines behind a chart of counts, from 0 to the first that is not below the highest: whole multiples of 1, 2
 * or 5 times a power of ten.
 */
export function scaleOf(highest: number): number[] {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(highest / LINES)));
  const step = ([1, 2, 5].find((n) => n * power * LINES >= highest) ?? 10) * power;
  return Array.from({ length: Math.max(1, Math.ceil(highest / step)) + 1 }, (_, i) => i * step);
}
