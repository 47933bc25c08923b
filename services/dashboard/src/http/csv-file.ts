import { isUtf8 } from 'node:buffer';
import { unguarded } from '@gatehouse/api/http/csv';
import { isStorable } from '@gatehouse/api/http/json-body';
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { ApiError } from '../api/api-error.ts';

/** A row of a file: where it begins, and its cells by the names of their columns. */
export type CsvRow = { line: number; cells: Readonly<Record<string, string>>; problem?: string };

export type CsvFile = {
  columns: readonly string[];
  rows: readonly CsvRow[];
  /** Whether it is of a spreadsheet that separates cells by semicolons, because a comma separates decimals. */
  hasDecimalCommas: boolean;
};

/**
 * Reads a file that we or a spreadsheet wrote: cells are separated by commas, semicolons or tabs, and the first line names the
 * columns. What an export has put before formulas is left out. Throws an ApiError that says what is wrong with the file as a whole.
 */
export function readCsv(
  content: Buffer,
  { known, maxRows }: { known: readonly string[]; maxRows: number },
): CsvFile {
  if (!isUtf8(content)) {
    throw refused('The file is not text in UTF-8. In a spreadsheet, save it as “CSV UTF-8”.');
  }
  const text = content.toString('utf8');
  if (!isStorable(text)) throw refused('The file is not text: it contains a NUL character.');
  if (text.trim() === '') throw refused('The file is empty.');
  const [first = ''] = text.trimStart().split(/[\r\n]/, 1);
  const delimiter = /[,;\t]/.exec(first)?.[0] ?? ',';
  const [header, ...records] = recordsOf(content, delimiter, maxRows);
  const columns = (header?.record ?? []).map((title) => title.trim().toLowerCase());
  const unknown = columns.filter((column) => !known.includes(column));
  if (unknown.length > 0) {
    const names = unknown.map((column) => `“${column}”`).join(', ');
    throw refused(
      `The first line must name the columns. These are not known: ${names}. Columns can be ${known.join(', ')}.`,
    );
  }
  const twice = columns.find((column, at) => columns.indexOf(column) !== at);
  if (twice !== undefined) throw refused(`The column ${twice} is there twice.`);
  if (records.length === 0) throw refused('The file has no rows below the line that names the columns.');
  if (records.length > maxRows) {
    throw refused(
      `The file has more than ${maxRows.toLocaleString('en')} rows. Split it into several files.`,
    );
  }
  const rows = records.map(({ line, record }): CsvRow => {
    const cells = Object.fromEntries(columns.map((column, at) => [column, unguarded(record[at] ?? '')]));
    if (record.length === columns.length) return { line, cells };
    return { line, cells, problem: `The row has ${record.length} cells instead of ${columns.length}.` };
  });
  return { columns, rows, hasDecimalCommas: delimiter === ';' };
}

type Parsed = { info: { bytes: number }; record: string[] };

const LINE_END = /\r\n|\r|\n/g;
/** Lines without values, which are skipped. */
const EMPTY_LINES = /^(?:[,;\t ]*(?:\r\n|\r|\n))*/;

/** The records with something in them and the lines on which they begin, up to one row more than there may be. */
function recordsOf(
  content: Buffer,
  delimiter: string,
  maxRows: number,
): { line: number; record: string[] }[] {
  const lineEnds = (text: string) => text.match(LINE_END)?.length ?? 0;
  try {
    const parsed = parse(content, {
      bom: true,
      delimiter,
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      to: maxRows + 2,
    }) as unknown as Parsed[];
    // The parser counts CR LF in a cell as two lines.
    let line = 1;
    let from = 0;
    return parsed.map(({ info, record }) => {
      const text = content.toString('utf8', from, info.bytes);
      const begin = line + lineEnds(EMPTY_LINES.exec(text)?.[0] ?? '');
      line += lineEnds(text);
      from = info.bytes;
      return { line: begin, record };
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = 1 + lineEnds(content.toString('utf8', 0, Number(error.bytes)));
    throw refused(`A quotation mark is missing or misplaced on line ${line} or before.`);
  }
}

const refused = (message: string) => new ApiError(400, message);
