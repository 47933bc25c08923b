import type { Api } from '../../api/api.ts';
import { attempt, type Outcome } from '../../api/attempt.ts';

/** A metric over time, as the API returns it. */
export type Series = {
  metric: string;
  from: string;
  to: string;
  interval: string;
  as_of: string | null;
  total: number | null;
  /** That of the period of the same length before, if it is kept. */
  previous_total?: number | null;
  totals?: ({ value: number | null } & Record<string, string | number | null>)[];
  data: ({ at: string; value: number | null } & Record<string, string | number | null>)[];
};

/** The ranges to choose from, and the intervals in which their values are shown. */
export const RANGES = {
  '1h': { title: 'Last hour', interval: 'minute', hours: 1, before: 'the hour before' },
  '24h': { title: 'Last 24 hours', interval: 'hour', hours: 24, before: 'the 24 hours before' },
  '7d': { title: 'Last 7 days', interval: 'hour', hours: 7 * 24, before: 'the 7 days before' },
  '30d': { title: 'Last 30 days', interval: 'day', hours: 30 * 24, before: 'the 30 days before' },
} as const;
export type Range = keyof typeof RANGES;

export function rangeOf(text: string): Range {
  return Object.hasOwn(RANGES, text) ? (text as Range) : '1h';
}

/** By what the values of a metric are divided. */
const GROUPS: Readonly<Record<string, string>> = { logins: 'method' };

/** Asks for metrics, each by itself, so that one that cannot be had leaves the others. */
export async function loadSeries<M extends string>(
  api: Api,
  metrics: readonly M[],
  { range, clientId }: { range: Range; clientId?: string },
): Promise<Record<M, Outcome<Series>>> {
  const { interval, hours } = RANGES[range];
  const from = new Date(Date.now() - hours * 3_600_000).toISOString();
  const entries = await Promise.all(
    metrics.map(async (metric) => {
      const query = {
        metric,
        interval,
        from,
        compare: 'previous',
        client_id: clientId,
        group_by: GROUPS[metric],
      };
      return [metric, await attempt(api.get<Series>('/api/v1/analytics', query))] as const;
    }),
  );
  return Object.fromEntries(entries) as Record<M, Outcome<Series>>;
}
