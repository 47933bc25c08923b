import { render } from '@gatehouse/web/html';
import t from 'tap';
import type { Series } from '../../../src/features/overview/analytics.ts';
import {
  figureOf,
  type RequestSeries,
  requestFigures,
  tiles,
} from '../../../src/features/overview/figures.ts';
import { plotGrid } from '../../../src/features/overview/plots.ts';

const HOUR = 3_600_000;
/** An hour of which half is over. */
const from = new Date(Date.now() - HOUR / 2).toISOString();
const to = new Date(Date.now() + HOUR / 2).toISOString();
const series = (total: number | null, before?: number | null, more: Partial<Series> = {}) => ({
  value: {
    ...{ metric: 'x', from, to, interval: 'minute', as_of: to, total, data: [], ...more },
    ...(before !== undefined && { previous_total: before }),
  },
});
const shown = (...figures: Parameters<typeof tiles>[0]) =>
  render(tiles(figures))
    .replaceAll(/<[^>]+>/g, ' ')
    .trim()
    .replaceAll(/\s+/g, ' ');

t.test('figures have their change from the period before, as far as it says something', async (t) => {
  for (const [total, before, unit, text] of [
    [112, 200, 'count', 'It 112 +12 %'],
    [88, 200, 'count', 'It 88 −12 %'],
    [100, 200, 'count', 'It 100 no change'],
    [4, 14, 'count', 'It 4 −3'],
    [5, 0, 'count', 'It 5 +5'],
    [0, 0, 'count', 'It 0'],
    [5, undefined, 'count', 'It 5'],
    [90, 60, 'ms', 'It 90 ms +50 %'],
    [90, null, 'ms', 'It 90 ms'],
    [null, 60, 'ms', ''],
  ] as const) {
    t.equal(shown(figureOf('It', series(total, before), unit)), text, `${total} after ${before} ${unit}`);
  }
  const ours = { totals: [{ value: 30, currency: 'EUR' }] };
  t.equal(shown(figureOf('It', series(30, 40, ours), 'money')), 'It €30.00 +50 %');
  t.match(render(tiles([figureOf('It', series(9, 2), 'count', true)])), 'is-bad', 'more errors are worse');
  t.match(render(tiles([figureOf('It', series(90, 120), 'ms', true)])), 'is-good');
});

t.test('errors and limits come first, with changes of rates in points', async (t) => {
  const none = { error: undefined } as never;
  const all = { requests: series(200, 100), errors: series(2, 2), client_errors: series(4, 8) };
  const some = {
    ...all,
    rate_limited: series(3, 0),
    latency_p50: none,
    latency_p95: none,
    latency_p99: none,
  };
  t.equal(
    shown(...requestFigures({ ...some, tokens_issued: none } as RequestSeries)),
    'Error rate 3 % −7 points Rate limited (429) 3 +3 Requests 200 +300 %',
  );
});

t.test('a sentence takes the place of plots without data', async (t) => {
  const data = (value: number | null) => [{ at: from, value }];
  const plot = (title: string, value: number | null) => ({
    ...{ title, unit: 'count' as const },
    lines: [{ name: title, outcome: series(value, 0, { data: data(value) }) }],
  });
  const text = render(plotGrid([plot('Orders', 0), plot('Requests', 3), plot('Latency', null)]));
  t.equal(text.split('class="canvas"').length, 2);
  t.match(text, 'No data in this period: Orders, Latency.');
  t.match(text, '<h2>Requests</h2>');
});
