import t from 'tap';
import { periodInFileName, periodText, wholeDays } from '../../src/reports/report-period.ts';

t.test('a period is covered by whole days, named for people, and part of the file name', async (t) => {
  const now = new Date('2026-11-22T21:36:00Z');
  const date = (text: string | null) => (text === null ? null : new Date(text));
  for (const [from, to, days, text, name] of [
    [null, null, ['2026-10-24', '2026-11-23'], 'all time', '2026-11-22'],
    [
      ...['2026-11-20T12:00:00Z', '2026-11-21T00:00:01Z', ['2026-11-20', '2026-11-22']],
      ...['from 2026-11-20 12:00 UTC up to 2026-11-21 00:00 UTC', '2026-11-20-to-2026-11-21'],
    ],
    [
      ...['2026-11-01', '2026-12-01', ['2026-11-01', '2026-11-23']],
      ...['from 2026-11-01 up to and including 2026-11-30 (UTC)', '2026-11-01-to-2026-11-30'],
    ],
    [
      ...[null, '2026-10-31', ['2026-10-01', '2026-10-31']],
      ...['up to and including 2026-10-30 (UTC)', 'until-2026-10-30'],
    ],
    [
      ...['2026-11-22', null, ['2026-11-22', '2026-11-23']],
      ...['from 2026-11-22 (UTC)', '2026-11-22-to-2026-11-22'],
    ],
  ] as [string | null, string | null, [string, string], string, string][]) {
    const period = { from: date(from), to: date(to), timezone: 'UTC' };
    const covered = wholeDays(period, now);
    t.same(covered, { from: date(days[0]), to: date(days[1]) }, `${from} ${to}`);
    t.same(wholeDays(covered, now), covered, 'what is covered covers itself');
    t.equal(periodText(period), text);
    t.equal(periodInFileName(period, now), name);
  }
  const january = { from: date('2026-01-01T05:00:00Z'), to: date('2026-02-01T05:00:00Z') };
  const here = { ...january, timezone: 'America/New_York' };
  t.equal(periodText(here), 'from 2026-01-01 up to and including 2026-01-31 (America/New_York)');
  t.equal(periodInFileName(here, now), '2026-01-01-to-2026-01-31');
});
