import { dayIn, startOfDay } from '@gatehouse/domain/time-zone';
import type { ReportRequest } from './report.ts';

type Asked = Pick<ReportRequest, 'from' | 'to'>;
type Period = Pick<ReportRequest, 'from' | 'to' | 'timezone'>;

const DAY_MS = 86_400_000;
/** The default period of a report by day. */
const DEFAULT_DAYS = 30;

/**
 * The whole days (UTC) that a report of values by day covers: those that the period asked for touches, today at the latest, and
 * without its beginning the 30 days before its end.
 */
export function wholeDays({ from, to }: Asked, now: Date): { from: Date; to: Date } {
  const tomorrow = midnightBefore(now.getTime()) + DAY_MS;
  const end = to === null ? tomorrow : Math.min(tomorrow, midnightBefore(to.getTime() + DAY_MS - 1));
  const begin = from === null ? end - DEFAULT_DAYS * DAY_MS : midnightBefore(from.getTime());
  return { from: new Date(begin), to: new Date(end) };
}

/** Whether a period begins earlier than so many whole days before today. */
export function beginsBefore({ from }: Asked, days: number, now: Date): boolean {
  return from !== null && from.getTime() < midnightBefore(now.getTime()) - days * DAY_MS;
}

/** A period for people: by its first and its last day where it consists of whole days, else by its times. */
export function periodText({ from, to, timezone }: Period): string {
  if (from === null && to === null) return 'all time';
  const dayOf = dayIn(timezone);
  const isMidnight = (time: Date) => startOfDay(dayOf(time), timezone).getTime() === time.getTime();
  if ([from, to].every((time) => time === null || isMidnight(time))) {
    const first = from && `from ${dayOf(from)}`;
    const last = to && `up to and including ${dayOf(momentBefore(to))}`;
    return `${[first, last].filter(Boolean).join(' ')} (${timezone})`;
  }
  const [since, until] = [from && `from ${minuteText(from)}`, to && `up to ${minuteText(to)}`];
  return [since, until].filter(Boolean).join(' ');
}

/** A period in a file name, by its days; for a report without one, the day on which it was asked for. */
export function periodInFileName({ from, to, timezone }: Period, askedAt: Date): string {
  const dayOf = dayIn(timezone);
  const last = dayOf(to === null ? askedAt : momentBefore(to));
  if (from !== null) return `${dayOf(from)}-to-${last}`;
  return to === null ? last : `until-${last}`;
}

export const minuteText = (time: Date) => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const midnightBefore = (ms: number) => Math.floor(ms / DAY_MS) * DAY_MS;
const momentBefore = (time: Date) => new Date(time.getTime() - 1);
