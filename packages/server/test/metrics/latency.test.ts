import {
  LATENCY_BOUNDS_MS,
  LATENCY_BUCKETS,
  latencyBucket,
  latencyQuantile,
} from '@gatehouse/server/metrics/latency';
import t from 'tap';

t.test('the bounds rise, each by about a quarter', async (t) => {
  t.equal(LATENCY_BOUNDS_MS[0], 0.1);
  t.equal(LATENCY_BOUNDS_MS.at(-1), 80_000);
  for (const [i, bound] of LATENCY_BOUNDS_MS.entries()) {
    const ratio = bound / (LATENCY_BOUNDS_MS[i - 1] ?? bound / 1.26);
    t.ok(ratio > 1.2 && ratio < 1.3, `${bound}: ${ratio}`);
    t.equal(latencyBucket(bound), i, 'a bound is in its own bucket');
    t.equal(latencyBucket(bound * 1.0001), i + 1);
  }
  t.equal(latencyBucket(0), 0);
  t.equal(latencyBucket(1e9), LATENCY_BUCKETS - 1);
});

t.test('quantiles are within a bucket of the truth, also of merged histograms', async (t) => {
  const parts = [1, 2, 3].map(() => new Array<number>(LATENCY_BUCKETS).fill(0));
  const times = Array.from({ length: 30_000 }, (_, i) => 0.3 * 1.0004 ** i);
  for (const [i, ms] of times.entries()) {
    const part = parts[i % 3] as number[];
    part[latencyBucket(ms)] = (part[latencyBucket(ms)] as number) + 1;
  }
  const merged = Array.from({ length: LATENCY_BUCKETS }, (_, i) =>
    parts.reduce((n, p) => n + (p[i] ?? 0), 0),
  );
  for (const q of [0.5, 0.95, 0.99]) {
    const truth = times[Math.floor(times.length * q)] as number;
    const error = (latencyQuantile(merged, q) as number) / truth;
    t.ok(error > 0.8 && error < 1.26, `${q}: ${error}`);
  }
  t.equal(latencyQuantile([], 0.5), undefined);
  t.equal(latencyQuantile([...new Array(LATENCY_BUCKETS - 1).fill(0), 5], 0.5), 80_000);
});
