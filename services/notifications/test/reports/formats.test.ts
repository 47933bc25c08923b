import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { dailyTotals } from '../../src/reports/daily-totals.ts';
import { amountsAsText } from '../../src/reports/formats/amounts.ts';
import { createBars } from '../../src/reports/formats/bars.ts';
import { csvReport } from '../../src/reports/formats/csv-report.ts';
import { scaleOf } from '../../src/reports/formats/pdf-report.ts';
import type { Row } from '../../src/reports/report-types.ts';

function barsOf(days: readonly string[]) {
  const bars = createBars();
  for (const day of days) bars.add(day, 2);
  return bars.bars();
}

t.test('bars of days, with those between', async (t) => {
  t.same(barsOf(['2024-02-28T23:59:59.999Z', '2024-03-01', '2024-02-28', 'never', '']), [
    { label: '2024-02-28', value: 4 },
    { label: '2024-02-29', value: 0 },
    { label: '2024-03-01', value: 2 },
  ]);
  t.same(barsOf([]), []);
});

t.test('bars of months or years, where there would be too many', async (t) => {
  const months = barsOf(['2023-11-30', '2024-02-01', '2024-02-29']);
  t.same(
    months.map(({ label, value }) => [label, value]),
    [
      ['2023-11', 2],
      ['2023-12', 0],
      ['2024-01', 0],
      ['2024-02', 4],
    ],
  );
  const years = barsOf(['1999-12-31', '2026-01-01']);
  t.equal(years.length, 28);
  t.same(
    [years[0], years.at(-1)],
    [
      { label: '1999', value: 2 },
      { label: '2026', value: 2 },
    ],
  );
});

t.test('the lines behind a chart of counts are whole, and at most five', async (t) => {
  const cases: [highest: number, lines: number[]][] = [
    [0, [0, 1]],
    [1, [0, 1]],
    [3, [0, 1, 2, 3]],
    [5, [0, 2, 4, 6]],
    [9, [0, 5, 10]],
    [223, [0, 100, 200, 300]],
    [1_000_000, [0, 500_000, 1_000_000]],
  ];
  for (const [highest, lines] of cases) t.same(scaleOf(highest), lines, `${highest}`);
  for (let highest = 1; highest < 1e7; highest = Math.ceil(highest * 1.07)) {
    const lines = scaleOf(highest);
    const last = lines.at(-1) ?? 0;
    const isFine =
      lines.every(Number.isInteger) && lines.length <= 5 && last >= highest && last < highest * 2.5;
    t.ok(isFine, `${highest}: ${lines}`);
  }
});

t.test('amounts as text have the decimals of their currency', async (t) => {
  const asText = amountsAsText({ amounts: ['price'] });
  for (const [price, currency, text] of [
    [12.5, 'EUR', '12.50'],
    [1200, 'JPY', '1200'],
    [0.1 + 0.2, 'KWD', '0.300'],
    [20_000_000_000_000.07, 'USD', '20000000000000.07'],
    [3, 'nothing', 3],
    [null, 'EUR', null],
  ] as const) {
    t.same(asText({ price, currency, stock: 1.5 }), { price: text, currency, stock: 1.5 });
  }
});

t.test('days are those of the time zone', async (t) => {
  const created_at = '2026-01-31T20:00:00.000Z';
  const bars = createBars('Asia/Tokyo');
  for (const at of [created_at, '2026-02-01', 'never']) bars.add(at, 1);
  t.same(bars.bars(), [{ label: '2026-02-01', value: 2 }]);
  const days = dailyTotals('Asia/Tokyo');
  days.add({ status: 'shipped', created_at, items: [], currency: 'EUR', total_amount: 1 });
  t.match(days.rows(), [{ day: '2026-02-01' }]);
});

t.test('amounts are added exactly', async (t) => {
  const days = dailyTotals();
  const order = { status: 'shipped', created_at: '2026-03-01T10:00:00Z', items: [{ quantity: 2 }] };
  for (let i = 0; i < 10; i += 1) days.add({ ...order, currency: 'EUR', total_amount: 0.1 });
  for (const total_amount of [1.005, 0.001]) days.add({ ...order, currency: 'KWD', total_amount });
  days.add({ ...order, currency: 'JPY', total_amount: 9_007_199_254 });
  days.add({ ...order, currency: 'EUR', total_amount: 5, status: 'refunded' });
  // One of them alone has the most digits that an amount can have.
  for (const total_amount of [9_999_999_999_999.99, 9_999_999_999_999.99, 0.09])
    days.add({ ...order, currency: 'USD', total_amount });
  t.same(
    days.rows().map(({ currency, orders, items, revenue }) => [currency, orders, items, revenue]),
    [
      ['EUR', 10, 20, 1],
      ['JPY', 1, 2, 9_007_199_254],
      ['KWD', 2, 4, 1.006],
      ['USD', 3, 6, 20_000_000_000_000.07],
    ],
  );
});

/** As spreadsheets read it: whatever ends a line outside of quotes ends the record. */
function recordsOf(csv: string): string[][] {
  const records: string[][] = [[]];
  for (const [, quoted, plain = '', end] of csv.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\r|\n)/g,
  )) {
    records.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end !== ',') records.push([]);
  }
  return records.slice(0, -1);
}

const csvOf = (rows: readonly Row[]) =>
  text(csvReport({ a: 'A', b: 'B' }, Readable.from([rows]) as AsyncIterable<readonly Row[]>));

/** As programs read it that separate cells by semicolons or tabs: quotes within a cell are characters like others. */
const cellsElsewhere = (csv: string) => csv.split(/[;\uff1b\ufe54\u037e\t\r\n]/);

t.test('whatever text a cell of CSV has, it is one cell, and no formula', async (t) => {
  const before = [
    ...['', ' ', '\n', '\r', '\r\n', '\t', '"', ',', "'", '\u00a0', '\ufeff', '\u200b', '\u202e\n', '\u0001'],
    ...[';', '; ', ';;', ';"', ';\t', '\t;', ' ;', '；', '﹔', '\u037e', ';\n', ';\u200b', '";"', ";'"],
  ];
  const texts = [...'=+-@＝＋－＠﹦﹢﹣﹫'].flatMap((sign) =>
    before.flatMap((first) => [`${first}${sign}1`, `a${first}${sign}1`, `"${first}\n${sign}1"`]),
  );
  const csv = await csvOf(texts.map((a) => ({ a, b: a })));
  const [, ...records] = recordsOf(csv);
  t.equal(records.length, texts.length);
  const isFormula = (cell: string) => /^[\s\p{Cf}\p{Cc}"]*[=+\-@]/u.test(cell.normalize('NFKC'));
  const withoutApostrophes = (text: string) => text.replaceAll("'", '');
  for (const [i, a] of texts.entries()) {
    const [cell = '', second] = records[i] ?? [];
    t.equal(cell, second);
    t.equal(withoutApostrophes(cell), withoutApostrophes(a), JSON.stringify(a));
    t.notOk(isFormula(cell), JSON.stringify(cell));
  }
  t.same(cellsElsewhere(csv).filter(isFormula), [], 'nor where cells are separated in another way');
  const harmless = ['a-5', 'tea = water', 'x;y', "it's 1+1", 'a@b.example', 'a; b', '—5'];
  t.equal(
    await csvOf(harmless.map((a) => ({ a, b: '' }))),
    ['A,B', ...harmless.map((a) => `${a},`), ''].join('\r\n'),
    'what is none is as it was',
  );
  t.equal(
    await csvOf([
      { a: -5, b: 'a-5' },
      { a: null, b: '' },
    ]),
    'A,B\r\n-5,a-5\r\n,\r\n',
    'numbers are numbers',
  );
});
