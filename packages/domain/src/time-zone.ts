/** Days of the calendar in the time zones of the IANA database, as Intl knows them (ECMA-402 §6.5). */

const DAY_MS = 86_400_000;

/** Whether this is the name of a time zone, such as Europe/Berlin. An offset, such as +02:00, is none. */
export function isTimeZone(name: string): boolean {
  try {
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/** Compiles a function from a time to its day in a time zone, as yyyy-mm-dd. */
export function dayIn(timeZone: string): (time: Date) => string {
  if (timeZone === 'UTC') return (time) => time.toISOString().slice(0, 10);
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
  return (time) => format.format(time);
}

/** The first moment of a day (yyyy-mm-dd) in a time zone, also where clocks leave out its midnight, or have it twice. */
export function startOfDay(day: string, timeZone: string): Date {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const dayOf = dayIn(timeZone);
  // By the offsets on either side of a change that may be near.
  const [first, second] = [-DAY_MS, DAY_MS]
    .map((away) => new Date(midnight - offsetAt(midnight + away, timeZone)))
    .sort((a, b) => a.getTime() - b.getTime()) as [Date, Date];
  return dayOf(first) >= day ? first : second;
}

/** When clocks in a time zone show this day and time (yyyy-mm-ddThh:mm); one of the two moments, where they show it twice. */
export function zonedTimeToDate(text: string, timeZone: string): Date {
  const inUtc = Date.parse(`${text}Z`);
  // The offset may change between there and here.
  return new Date(inUtc - offsetAt(inUtc - offsetAt(inUtc, timeZone), timeZone));
}

/** How far the clocks of a time zone are ahead of UTC at a time; both in milliseconds. */
function offsetAt(ms: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(ms);
  const text = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(text) ?? [];
  return (sign === '-' ? -1000 : 1000) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds));
}
