import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { renderPdf } from '../../src/reports/formats/render-pdf.ts';
import { REPORTS, type Row } from '../../src/reports/report-types.ts';

const TASK = {
  about: { title: 'Products report', lines: ['Period: all'], timeZone: 'UTC' },
  definition: REPORTS.products,
};
/** At most 200 characters, as products have them. */
const NAMES = {
  'no space': 'x'.repeat(200),
  narrow: 'i'.repeat(200),
  Arabic: 'شاي أخضر من الصين '.repeat(12).slice(0, 200),
  'one letter with many marks': `a${'\u0301'.repeat(199)}`,
  emoji: '😀'.repeat(100),
  'half a character': '\ud800'.repeat(200),
  nothing: '',
};

const rowOf = (name: string, i: number): Row => ({
  ...{ id: `prd_${i}`, sku: null, name, category: null, price: 12.5, currency: 'EUR', stock: i },
  ...{ status: 'active', created_at: '2026-03-15T09:30:07.000Z' },
});

async function* batchesOf(names: readonly string[], rows: number): AsyncGenerator<Row[]> {
  for (let i = 0; i < rows; i += 100) {
    yield Array.from({ length: 100 }, (_, n) => rowOf(names[n % names.length] ?? '', i + n));
  }
}

t.test(
  'whatever a cell holds, it is laid out elsewhere than in the thread that answers requests',
  async (t) => {
    const before = { all: process.cpuUsage(), own: process.threadCpuUsage() };
    const bytes = await buffer(renderPdf(TASK, batchesOf(Object.values(NAMES), 700)));
    const all = process.cpuUsage(before.all).user;
    const own = process.threadCpuUsage(before.own).user;
    t.comment(`${(own / 1e3).toFixed(0)} ms of ${(all / 1e3).toFixed(0)} ms of CPU`);
    t.ok(own < all / 5);
    t.equal(bytes.subarray(0, 5).toString(), '%PDF-');
    t.equal(bytes.subarray(-6).toString(), '%%EOF\n');
  },
);

t.test('a report that is too large fails with a reason, and ends no process', async (t) => {
  const limits = { maxOldGenerationSizeMb: 12, maxYoungGenerationSizeMb: 1 };
  const begin = performance.now();
  await t.rejects(buffer(renderPdf(TASK, batchesOf(Object.values(NAMES), 10_000), limits)), {
    name: 'PermanentError',
    message: 'The report is too large for PDF: choose a shorter period, a filter, or CSV.',
  });
  t.comment(`${(performance.now() - begin).toFixed(0)} ms`);
});

t.test('when its rows cannot be read, it fails with their error', async (t) => {
  async function* failing() {
    yield [rowOf('Tea', 0)];
    throw new Error('the API does not answer');
  }
  await t.rejects(buffer(renderPdf(TASK, failing())), { message: 'the API does not answer' });
});
