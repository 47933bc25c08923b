import { csvLines } from '@gatehouse/api/http/csv';
import { anyCharacter } from '@gatehouse/testing/any-character';
import fc from 'fast-check';
import t from 'tap';
import { type CsvRow, readCsv } from '../../src/http/csv-file.ts';

const OPTIONS = { known: ['a', 'b', 'c'], maxRows: 100 };
/** NUL is in no text that the API stores. */
const unit = fc.oneof(
  fc.constantFrom(...`=+-@"',;\t\r\n ＝\ufeff`),
  anyCharacter.filter((it) => it !== '\0'),
);
const cell = fc.string({ unit, maxLength: 12 });

async function read(text: string) {
  const file = await readCsv(Buffer.from(text), OPTIONS);
  const rows: CsvRow[] = [];
  for await (const row of file.rows) rows.push(row);
  return { ...file, rows };
}

t.test('whatever an export has written is read again to the letter', async () => {
  // A line of spaces alone counts as empty; each object has a name.
  const cells = fc.tuple(cell, cell, cell).filter((row) => row.some((it) => it.trim() !== ''));
  await fc.assert(
    fc.asyncProperty(fc.array(cells, { minLength: 1, maxLength: 5 }), async (records) => {
      const { rows } = await read(csvLines([['a', 'b', 'c'], ...records]));
      return JSON.stringify(rows.map((row) => Object.values(row.cells))) === JSON.stringify(records);
    }),
    { numRuns: 3000 },
  );
});

t.test('rows have the numbers of the lines on which they begin', async (t) => {
  for (const end of ['\n', '\r\n', '\r']) {
    const lines = ['\ufeffA, b ', `"x${end}${end}y",1`, '', ' ', ',', 'z,2', `"p${end}q",`, '', 'last,3'];
    const { rows } = await read(lines.join(end));
    t.same(
      rows.map(({ line }) => line),
      [2, 8, 9, 12],
      JSON.stringify(end),
    );
  }
});

t.test('the first line says what separates the cells', async (t) => {
  for (const [text, cells, hasDecimalCommas] of [
    ['a,b\n1;2,3', { a: '1;2', b: '3' }, false],
    ['"a";b\n1,5;2', { a: '1,5', b: '2' }, true],
    ['a\tb\n1,5\t2;3', { a: '1,5', b: '2;3' }, false],
    ['c\n"1,5; 2"', { c: '1,5; 2' }, false],
  ] as const) {
    const file = await read(text);
    t.same(file.rows[0]?.cells, cells);
    t.equal(file.hasDecimalCommas, hasDecimalCommas);
  }
});

t.test('a row that never ends is refused where it begins, before it is all read', async (t) => {
  const rows = 'x,1\n'.repeat(20);
  await t.rejects(read(`a,b\n${rows}"${'y\n'.repeat(200_000)}",2`), {
    message: 'The row that begins on line 22 is longer than 128 KiB, or lacks a quotation mark.',
  });
});
