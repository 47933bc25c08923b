import { inAppearance } from '@gatehouse/web/appearance';
import t from 'tap';
import { dayEndOf, instantOf } from '../../src/api/instants.ts';

t.test('days and times of forms are in the zone of the page', async (t) => {
  for (const [timeZone, text, start, end] of [
    ['UTC', '2026-11-29', '2026-11-29T00:00:00.000Z', '2026-11-30T00:00:00.000Z'],
    ['Asia/Tokyo', '2026-11-29', '2026-11-28T15:00:00.000Z', '2026-11-29T15:00:00.000Z'],
    ['Europe/Berlin', '2026-10-25', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
    ['Asia/Tokyo', '2026-11-29T08:30', '2026-11-28T23:30:00.000Z', undefined],
    ['UTC', '9999-12-31', '9999-12-31T00:00:00.000Z', '9999-12-31T00:00:00.000Z'],
    ['UTC', '2026-02-30', '2026-02-30', '2026-02-30'],
    ['UTC', '+275760-09-13', '+275760-09-13', '+275760-09-13'],
    ['UTC', 'nonsense', 'nonsense', 'nonsense'],
    ['UTC', '', '', ''],
  ] as const) {
    inAppearance({ timeZone }, () => {
      t.equal(instantOf(text), start, `${text} in ${timeZone}`);
      if (end !== undefined) t.equal(dayEndOf(text), end, `the end of ${text}`);
    });
  }
});
