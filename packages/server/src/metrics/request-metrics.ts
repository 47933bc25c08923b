import type { HistogramFamily, MetricFamily } from '@gatehouse/core/metrics-text';
import type { CompletedRequest } from '../completed-request.ts';
import { LATENCY_BOUNDS_MS, latencyBucket } from './latency.ts';

/** The bounds of latencies that suffice on a dashboard: 1, 2.5 and 5 of each decade from 1 ms to 10 s. */
const BOUNDS_MS = LATENCY_BOUNDS_MS.filter(
  (ms) => ms >= 1 && ms <= 10_000 && [1, 2.5, 5].includes(ms / 10 ** Math.floor(Math.log10(ms))),
);
/** For each bucket of latencies the one of BOUNDS_MS. */
const COARSE = [...LATENCY_BOUNDS_MS, Infinity].map((bound) => {
  const i = BOUNDS_MS.findIndex((ms) => ms >= bound);
  return i === -1 ? BOUNDS_MS.length : i;
});

type Series = {
  labels: { service: string; method: string; route: string };
  /** By the first digit of the status. */
  statuses: number[];
  counts: number[];
  sumMs: number;
};

/** Counts the requests of a process for /metrics, from its start. */
export function createRequestMetrics() {
  const seriesByRoute = new Map<string, Series>();

  function seriesOf(service: string, route: string): Series {
    const key = `${service} ${route}`;
    let series = seriesByRoute.get(key);
    if (series === undefined) {
      const [method = '', pattern = method] = route.split(' ');
      const counts = new Array<number>(BOUNDS_MS.length + 1).fill(0);
      const labels = { service, method, route: pattern };
      series = { labels, statuses: [0, 0, 0, 0, 0, 0], counts, sumMs: 0 };
      seriesByRoute.set(key, series);
    }
    return series;
  }

  return {
    observe(service: string, { route, status, ms }: CompletedRequest): void {
      const series = seriesOf(service, route);
      const kind = Math.floor(status / 100);
      series.statuses[kind] = (series.statuses[kind] ?? 0) + 1;
      const bucket = COARSE[latencyBucket(ms)] as number;
      series.counts[bucket] = (series.counts[bucket] as number) + 1;
      series.sumMs += ms;
    },
    families(): (MetricFamily | HistogramFamily)[] {
      const all = [...seriesByRoute.values()];
      return [
        {
          name: 'gatehouse_http_requests_total',
          help: 'Requests that have ended, by the class of their status.',
          type: 'counter',
          samples: all.flatMap(({ labels, statuses }) =>
            statuses.flatMap((value, kind) =>
              value === 0 ? [] : [{ labels: { ...labels, status: `${kind}xx` }, value }],
            ),
          ),
        },
        {
          name: 'gatehouse_http_request_duration_seconds',
          help: 'The time from the headers of a request to the end of its response.',
          type: 'histogram',
          bounds: BOUNDS_MS.map((ms) => ms / 1000),
          samples: all.map(({ labels, counts, sumMs }) => ({ labels, counts, sum: sumMs / 1000 })),
        },
      ];
    },
  };
}
