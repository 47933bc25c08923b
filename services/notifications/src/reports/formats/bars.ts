import { dayIn } from '@gatehouse/domain/time-zone';

/** One bar of a chart. */
export type Bar = { label: string; value: number };

/** More bars than these would be too thin to read. */
const MAX_BARS = 62;
/** The lengths of a year, a month and a day in an ISO 8601 date, from the finest to the coarsest. */
const PRECISIONS = [10, 7, 4];

/** Adds up values by time, and makes bars of them: of days in a time zone or, where that would be too many, of months or years. */
export function createBars(timeZone = 'UTC') {
  const dayOf = dayIn(timeZone);
  const days = new Map<string, number>();
  return {
    /** `at` is a day or a time of ISO 8601; what is neither is left out. */
    add(at: unknown, value: number): void {
      const text = String(at);
      const day = text.length > 10 && !Number.isNaN(Date.parse(text)) ? dayOf(new Date(text)) : text;
      if (/^\d{4}-\d\d-\d\d$/.test(day)) days.set(day, (days.get(day) ?? 0) + value);
    },
    /** In the order of time. */
    bars(): Bar[] {
      for (const precision of PRECISIONS) {
        const sums = new Map<string, number>();
        for (const [day, value] of days) {
          const label = day.slice(0, precision);
          sums.set(label, (sums.get(label) ?? 0) + value);
        }
        if (spanOf(sums.keys()) <= MAX_BARS || precision === PRECISIONS.at(-1)) {
          const labels = [...sums.keys()].sort();
          return between(labels[0], labels.at(-1)).map((label) => ({ label, value: sums.get(label) ?? 0 }));
        }
      }
      return [];
    },
  };
}

/** How many days, months or years there are from the first to the last. */
function spanOf(labels: Iterable<string>): number {
  const sorted = [...labels].sort();
  const [first = '', last = ''] = [sorted[0], sorted.at(-1)];
  const lengths: Record<number, number> = { 4: 366, 7: 30.4, 10: 1 };
  const days = (Date.parse(last) - Date.parse(first)) / 86_400_000;
  return Math.round(days / (lengths[first.length] ?? 1)) + 1;
}

/** All days, months or years from the first to the last, so that one without a value has its place, too. */
function between(first = '', last = ''): string[] {
  const labels: string[] = [];
  for (let label = first; label !== '' && label <= last; label = after(label)) labels.push(label);
  return labels;
}

/** The day, month or year after another. */
function after(label: string): string {
  const [year = 0, month = 1, day = 1] = label.split('-').map(Number);
  const step = { 4: [1, 0, 0], 7: [0, 1, 0], 10: [0, 0, 1] }[label.length] ?? [1, 0, 0];
  const [years = 0, months = 0, days = 0] = step;
  const next = new Date(Date.UTC(year + years, month - 1 + months, day + days));
  return next.toISOString().slice(0, label.length);
}
