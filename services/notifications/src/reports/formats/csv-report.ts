import { stringify } from 'csv-stringify/sync';
import type { Row } from '../report-types.ts';

/** The media type of RFC 4180, and RFC 7111 §3 for the header line. */
export const CSV_MEDIA_TYPE = 'text/csv; charset=utf-8; header=present';

/**
 * Where a spreadsheet would begin a cell, and calculate with it: at the beginning of a text and, as many programs separate
 * cells by a semicolon or tab and then know no quotes, after those and after line ends. The signs are also taken in their wide
 * and small forms, and after what is dropped on import (https://owasp.org/www-community/attacks/CSV_Injection).
 */
const FORMULA =
  /(?<=^|[;\uff1b\ufe54\u037e\t\r\n])(?=[\s\p{Cf}\p{Cc}"]*[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b])/gu;

const FORMAT = {
  record_delimiter: 'windows',
  // Spreadsheets end a record at any line end outside of quotes; by default only this delimiter is quoted.
  quote_record_delimiter: true,
  cast: { string: (value: string) => value.replace(FORMULA, "'") },
} as const;

/**
 * A report as CSV (RFC 4180): a line of titles, then one for each row. Text that a spreadsheet would take for a formula is
 * preceded by an apostrophe.
 */
export async function* csvReport(
  columns: Readonly<Record<string, string>>,
  batches: AsyncIterable<readonly Row[]>,
): AsyncGenerator<Buffer> {
  const names = Object.keys(columns);
  const lines = (records: unknown[][]) => Buffer.from(stringify(records, FORMAT));
  yield lines([Object.values(columns)]);
  for await (const rows of batches) {
    if (rows.length > 0) yield lines(rows.map((row) => names.map((name) => row[name] ?? '')));
  }
}
