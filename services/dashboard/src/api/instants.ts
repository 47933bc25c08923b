import { dayIn, startOfDay, zonedTimeToDate } from '@gatehouse/domain/time-zone';
import { timeZone } from '@gatehouse/web/appearance';

const DAY_MS = 86_400_000;

/** Whether there is such a day or time. */
function isTime(text: string): boolean {
  const at = new Date(text.length > 10 ? `${text}Z` : text);
  return /^\d{4}-/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

/** The day in the zone of the page, so many days ago. */
export function dayAgo(daysAgo: number): string {
  const day = dayIn(timeZone())(new Date());
  return new Date(Date.parse(day) - daysAgo * DAY_MS).toISOString().slice(0, 10);
}

/** The moment of a day or a time that a form has, in the zone of the page, as the API takes it; any other text as it is, which the API refuses. */
export function instantOf(text: string): string {
  return isTime(text)
    ? (text.length > 10 ? zonedTimeToDate : startOfDay)(text, timeZone()).toISOString()
    : text;
}

/** The same for the end of a day. */
export function dayEndOf(text: string): string {
  const next = isTime(text) ? new Date(Date.parse(text) + DAY_MS).toISOString().slice(0, 10) : text;
  // No day comes after the last one with a year of four digits.
  return instantOf(isTime(next) ? next : text);
}
