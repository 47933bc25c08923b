import { dayIn, isTimeZone, startOfDay, zonedTimeToDate } from '@gatehouse/domain/time-zone';
import t from 'tap';

t.test('a day begins at its first moment in the time zone', async (t) => {
  for (const [day, zone, start] of [
    ['2026-01-31', 'UTC', '2026-01-31T00:00:00Z'],
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00Z'],
    ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00Z'],
    ['2026-10-25', 'Europe/Berlin', '2026-10-24T22:00:00Z'],
    ['2026-10-26', 'Europe/Berlin', '2026-10-25T23:00:00Z'],
    ['2026-07-01', 'Asia/Kathmandu', '2026-06-30T18:15:00Z'],
    ['2026-07-01', 'Pacific/Kiritimati', '2026-06-30T10:00:00Z'],
    ['2026-07-01', 'America/New_York', '2026-07-01T04:00:00Z'],
    // Clocks go from midnight to 1.
    ['2026-04-24', 'Africa/Cairo', '2026-04-23T22:00:00Z'],
    // Clocks go back from midnight to 23.
    ['2026-10-30', 'Africa/Cairo', '2026-10-29T22:00:00Z'],
    // Clocks go back from 1 to midnight.
    ['2026-11-01', 'America/Havana', '2026-11-01T04:00:00Z'],
    // Samoa left the 30th out.
    ['2011-12-30', 'Pacific/Apia', '2011-12-30T10:00:00Z'],
    ['2011-12-31', 'Pacific/Apia', '2011-12-30T10:00:00Z'],
  ] as const) {
    const at = startOfDay(day, zone);
    t.equal(at.toISOString(), new Date(start).toISOString(), `${day} in ${zone}`);
    t.ok(
      dayIn(zone)(at) >= day && dayIn(zone)(new Date(at.getTime() - 1)) < day,
      'nothing earlier is of the day',
    );
  }
});

t.test('a time on the clocks of a time zone', async (t) => {
  for (const [text, zone, time] of [
    ['2026-01-31T12:30', 'UTC', '2026-01-31T12:30:00.000Z'],
    ['2026-07-01T00:15', 'Asia/Kathmandu', '2026-06-30T18:30:00.000Z'],
    ['2026-03-29T01:59', 'Europe/Berlin', '2026-03-29T00:59:00.000Z'],
    ['2026-03-29T03:00', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25T01:59', 'Europe/Berlin', '2026-10-24T23:59:00.000Z'],
    ['2026-10-25T03:00', 'Europe/Berlin', '2026-10-25T02:00:00.000Z'],
    ['2026-11-01T23:30', 'America/New_York', '2026-11-02T04:30:00.000Z'],
  ] as const) {
    t.equal(zonedTimeToDate(text, zone).toISOString(), time, `${text} in ${zone}`);
  }
});

t.test('names of time zones', async (t) => {
  for (const name of ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'Asia/Calcutta']) t.ok(isTimeZone(name), name);
  for (const name of ['', '+02:00', '-05', 'Mars/Olympus', 'Europe/Berlin ']) t.notOk(isTimeZone(name), name);
});
