import type { ReportRequest } from './report.ts';

type Asked = Pick<ReportRequest, 'from' | 'to'>;

const DAY_MS = 86_400_000;
/** The default period of a report by day. */
const DEFAULT_DAYS = 30;

/**
 * The whole days (UTC) that a report of values by day covers: those that the period asked for touches, today at the latest, and
 * without its beginning the 30 days before its end.
 */
export function wholeDays({ from, to }: Asked, now: Date): { from: Date; to: Date } {
  const tomorrow = startOfDay(now.getTime()) + DAY_MS;
  const end = to === null ? tomorrow : Math.min(tomorrow, startOfDay(to.getTime() + DAY_MS - 1));
  const begin = from === null ? end - DEFAULT_DAYS * DAY_MS : startOfDay(from.getTime());
  return { from: new Date(begin), to: new Date(end) };
}

/** Whether a period begins earlier than so many whole days before today. */
export function beginsBefore({ from }: Asked, days: number, now: Date): boolean {
  return from !== null && from.getTime() < startOfDay(now.getTime()) - days * DAY_MS;
}

/** A period for people: by its first and its last day where it consists of whole days, else by its times. */
export function periodText({ from, to }: Asked): string {
  if (from === null && to === null) return 'all time';
  const isWhole = [from, to].every((time) => time === null || time.getTime() % DAY_MS === 0);
  if (isWhole) {
    const [first, last] = [from && `from ${dayOf(from)}`, to && `up to and including ${lastDayBefore(to)}`];
    return `${[first, last].filter(Boolean).join(' ')} (UTC)`;
  }
  const [since, until] = [from && `from ${minuteText(from)}`, to && `up to ${minuteText(to)}`];
  return [since, until].filter(Boolean).join(' ');
}

/** A period in a file name, by its days; for a report without one, the day on which it was asked for. */
export function periodInFileName({ from, to }: Asked, askedAt: Date): string {
  const last = to === null ? dayOf(askedAt) : lastDayBefore(to);
  if (from !== null) return `${dayOf(from)}-to-${last}`;
  return to === null ? last : `until-${last}`;
}

export const minuteText = (time: Date) => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const startOfDay = (ms: number) => Math.floor(ms / DAY_MS) * DAY_MS;
const dayOf = (time: Date) => time.toISOString().slice(0, 10);
const lastDayBefore = (time: Date) => dayOf(new Date(time.getTime() - 1));
