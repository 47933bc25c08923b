/** R10 preferred numbers (ISO 3): each is about a quarter more than the one before. */
const MANTISSAS = [1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8];
const FIRST_DECADE = -1;
const DECADES = 6;

/**
 * The upper bounds of the buckets in which times are counted, in milliseconds, from 0.1 to 80,000. One more bucket takes
 * what is above. They are the same in all processes and stay the same, so that histograms can be added up.
 */
export const LATENCY_BOUNDS_MS: readonly number[] = Array.from({ length: DECADES }, (_, decade) =>
  MANTISSAS.map((mantissa) => Number((mantissa * 10 ** (decade + FIRST_DECADE)).toPrecision(3))),
).flat();

export const LATENCY_BUCKETS = LATENCY_BOUNDS_MS.length + 1;

/** How many times were in each bucket; absent ones count 0. */
export type LatencyHistogram = ArrayLike<number>;

/** The index of the bucket for a time in milliseconds: of the first bound that is not below it. */
export function latencyBucket(ms: number): number {
  let low = 0;
  let high = LATENCY_BOUNDS_MS.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((LATENCY_BOUNDS_MS[middle] as number) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * An estimate of the time, in milliseconds, that the share `q` (from 0 to 1) of all times did not exceed, within the width
 * of a bucket; undefined if nothing was counted. Times above the last bound count as the last bound.
 */
export function latencyQuantile(histogram: LatencyHistogram, q: number): number | undefined {
  let total = 0;
  for (let i = 0; i < LATENCY_BUCKETS; i += 1) total += histogram[i] ?? 0;
  if (total === 0) return undefined;
  let rank = q * total;
  for (const [i, upper] of LATENCY_BOUNDS_MS.entries()) {
    const count = histogram[i] ?? 0;
    if (count > 0 && rank <= count) {
      const lower = LATENCY_BOUNDS_MS[i - 1] ?? 0;
      return lower + ((upper - lower) * rank) / count;
    }
    rank -= count;
  }
  return LATENCY_BOUNDS_MS.at(-1);
}
