import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { unguarded } from '@gatehouse/api/http/csv';
import { isStorable } from '@gatehouse/api/http/json-body';
import { CsvError, parse } from 'csv-parse';
import { ApiError } from '../api/api-error.ts';

/** A row of a file: where it begins, and its cells by the names of their columns. */
export type CsvRow = { line: number; cells: Readonly<Record<string, string>>; problems?: readonly string[] };

export type CsvFile = {
  columns: readonly string[];
  /** Read as they are asked for. Rejects with ApiError, also after some rows. */
  rows: AsyncGenerator<CsvRow>;
  /** Whether it is of a spreadsheet that separates cells by semicolons, because a comma separates decimals. */
  hasDecimalCommas: boolean;
};

/** So much is parsed before others have their turn. */
const CHUNK_BYTES = 64 * 1024;
const MAX_ROW_KIB = 128;

/**
 * Reads a file that we or a spreadsheet wrote: cells are separated by commas, semicolons or tabs, and the first line names the
 * columns. What an export has put before formulas is left out. Throws an ApiError that says what is wrong with the file as a whole.
 */
export async function readCsv(
  content: Buffer,
  { known, maxRows }: { known: readonly string[]; maxRows: number },
): Promise<CsvFile> {
  if (!isUtf8(content)) {
    throw refused('The file is not text in UTF-8. In a spreadsheet, save it as “CSV UTF-8”.');
  }
  const text = content.toString('utf8');
  if (!isStorable(text)) throw refused('The file is not text: it contains a NUL character.');
  if (text.trim() === '') throw refused('The file is empty.');
  const [first = ''] = text.trimStart().split(/[\r\n]/, 1);
  const delimiter = /[,;\t]/.exec(first)?.[0] ?? ',';
  const records = recordsOf(content, delimiter);
  const header = await records.next();
  const columns = (header.value?.record ?? []).map((title) => title.trim().toLowerCase());
  const unknown = columns.filter((column) => !known.includes(column));
  if (unknown.length > 0) {
    const names = unknown.map((column) => `“${column}”`).join(', ');
    throw refused(
      `The first line must name the columns. These are not known: ${names}. Columns can be ${known.join(', ')}.`,
    );
  }
  const twice = columns.find((column, at) => columns.indexOf(column) !== at);
  if (twice !== undefined) throw refused(`The column ${twice} is there twice.`);
  async function* rows(): AsyncGenerator<CsvRow> {
    let count = 0;
    for await (const { line, record } of records) {
      count += 1;
      if (count > maxRows) {
        throw refused(
          `The file has more than ${maxRows.toLocaleString('en')} rows. Split it into several files.`,
        );
      }
      const cells = Object.fromEntries(columns.map((column, at) => [column, unguarded(record[at] ?? '')]));
      const problems = [`The row has ${record.length} cells instead of ${columns.length}.`];
      yield record.length === columns.length ? { line, cells } : { line, cells, problems };
    }
    if (count === 0) throw refused('The file has no rows below the line that names the columns.');
  }
  return { columns, rows: rows(), hasDecimalCommas: delimiter === ';' };
}

type Parsed = { info: { bytes: number }; record: string[] };

const LINE_END = /\r\n|\r|\n/g;
/** Lines without values, which are skipped. */
const EMPTY_LINES = /^(?:[,;\t ]*(?:\r\n|\r|\n))*/;

/** The records with something in them, and the lines on which they begin. */
async function* recordsOf(
  content: Buffer,
  delimiter: string,
): AsyncGenerator<{ line: number; record: string[] }, undefined> {
  const lineEnds = (text: string) => text.match(LINE_END)?.length ?? 0;
  async function* chunks() {
    for (let at = 0; at < content.length; at += CHUNK_BYTES) {
      yield content.subarray(at, at + CHUNK_BYTES);
      await nextTurn();
    }
  }
  // The parser counts CR LF in a cell as two lines.
  let line = 1;
  let from = 0;
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    max_record_size: MAX_ROW_KIB * 1024,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
  });
  try {
    const parsed: AsyncIterable<Parsed> = Readable.from(chunks()).pipe(parser);
    for await (const { info, record } of parsed) {
      const text = content.toString('utf8', from, info.bytes);
      const begin = line + lineEnds(EMPTY_LINES.exec(text)?.[0] ?? '');
      line += lineEnds(text);
      from = info.bytes;
      yield { line: begin, record };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const isLong = error.code === 'CSV_MAX_RECORD_SIZE';
    const at = 1 + lineEnds(content.toString('utf8', 0, Number(error.bytes)));
    throw refused(
      isLong
        ? `The row that begins on line ${line} is longer than ${MAX_ROW_KIB} KiB, or lacks a quotation mark.`
        : `A quotation mark is missing or misplaced on line ${at} or before.`,
    );
  }
}

const refused = (message: string) => new ApiError(400, message);
