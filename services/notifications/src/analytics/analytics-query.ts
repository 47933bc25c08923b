import { invalidFields } from '@gatehouse/api/http/schema';
import { readDate, readDateEnd } from '@gatehouse/api/lists/filters';
import type { FieldProblem } from '@gatehouse/core/errors';
import { INTERVAL_MS, INTERVALS, type Interval, startOf } from './bucket.ts';
import { GROUPS, type Group, groupsOf, METRIC_NAMES, METRICS, type MetricName } from './metrics.ts';

/** A question about one metric. `from` and `to` are beginnings of intervals. */
export type AnalyticsQuery = {
  metric: MetricName;
  from: Date;
  to: Date;
  interval: Interval;
  group: Group | undefined;
  client: string | undefined;
  /** Where the period before, of the same length, begins: if its total is asked for, and its values are kept. */
  previousFrom?: Date | undefined;
};

/** Intervals of one response. */
export const MAX_POINTS = 1000;
/** The default period: the last hour by minutes, the last day by hours, the last month by days. */
const DEFAULT_POINTS: Readonly<Record<Interval, number>> = { minute: 60, hour: 24, day: 30 };

/**
 * Reads the parameters of a request; undefined if it names no metric. Throws `invalid`, which names each parameter that is
 * wrong.
 *
 * @param options.keepDays for how many days the values of each interval are kept
 */
export function readAnalyticsQuery(
  parameters: Readonly<Record<string, unknown>>,
  options: { now: Date; keepDays: Readonly<Record<Interval, number>> },
): AnalyticsQuery | undefined {
  const { now, keepDays } = options;
  const problems: FieldProblem[] = [];

  function textOf(field: string): string | undefined {
    const value = parameters[field];
    if (Array.isArray(value)) problems.push({ field, message: 'must be given only once' });
    else if (value === '') problems.push({ field, message: 'must not be empty' });
    else if (typeof value === 'string') return value;
    return undefined;
  }

  function oneOf<T extends string>(field: string, words: readonly T[]): T | undefined {
    const text = textOf(field);
    const found = words.find((word) => word === text);
    if (text !== undefined && found === undefined) {
      problems.push({ field, message: `must be one of ${words.join(', ')}` });
    }
    return found;
  }

  function timeOf(field: string, read = readDate): number | undefined {
    const text = textOf(field);
    if (text === undefined) return undefined;
    const time = read(text);
    if (time !== undefined) return time.getTime();
    // An unescaped plus is a space.
    const hint = text.includes(' ') ? ', and its + is written as %2B' : '';
    problems.push({ field, message: `must be a date or a time such as 2026-01-31T12:00:00Z${hint}` });
    return undefined;
  }

  const metric = oneOf('metric', METRIC_NAMES);
  const interval = oneOf('interval', INTERVALS) ?? 'hour';
  const length = INTERVAL_MS[interval];
  const group = oneOf('group_by', GROUPS);
  const client = textOf('client_id');
  const compare = oneOf('compare', ['previous']);
  const [asked, until] = [timeOf('from'), timeOf('to', readDateEnd)];

  // The current interval is the last one.
  const end = startOf(interval, now.getTime()) + length;
  const to = Math.min(end, until === undefined ? end : startOf(interval, until + length - 1));
  const from = startOf(interval, asked ?? to - DEFAULT_POINTS[interval] * length);
  if (problems.length === 0 && from >= to) {
    problems.push({
      field: asked === undefined ? 'to' : 'from',
      message: `must be before ${asked === undefined || until === undefined || until > end ? 'now' : 'to'}`,
    });
  }
  if ((to - from) / length > MAX_POINTS) {
    problems.push({ field: 'from', message: `must be at most ${MAX_POINTS} ${interval}s before to` });
  }
  const keptFrom = now.getTime() - keepDays[interval] * INTERVAL_MS.day - length;
  if (from < keptFrom) {
    const message = `must be within the last ${keepDays[interval]} days, for which values by ${interval} are kept`;
    problems.push({ field: asked === undefined ? 'to' : 'from', message });
  }
  if (metric !== undefined) {
    const allowed = groupsOf(METRICS[metric]);
    if (group !== undefined && !allowed.includes(group)) {
      const names = allowed.join(', ');
      problems.push({ field: 'group_by', message: `must be one of ${names} for ${metric}` });
    }
    if (client !== undefined && !METRICS[metric].isPerClient) {
      problems.push({ field: 'client_id', message: `does not apply to ${metric}` });
    }
  }
  if (problems.length > 0) throw invalidFields(problems);
  if (metric === undefined) return undefined;
  const before = from - (to - from);
  const previousFrom = compare !== undefined && before >= keptFrom ? new Date(before) : undefined;
  return { metric, from: new Date(from), to: new Date(to), interval, group, client, previousFrom };
}
