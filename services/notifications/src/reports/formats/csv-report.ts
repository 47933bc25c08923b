import { stringify } from 'csv-stringify/sync';
import type { Row } from '../report-types.ts';

/** The media type of RFC 4180, and RFC 7111 §3 for the header line. */
export const CSV_MEDIA_TYPE = 'text/csv; charset=utf-8; header=present';

/**
 * A report as CSV (RFC 4180): a line of titles, then one for each row. Text that a spreadsheet would take for a formula is
 * preceded by an apostrophe.
 */
export async function* csvReport(
  columns: Readonly<Record<string, string>>,
  batches: AsyncIterable<readonly Row[]>,
): AsyncGenerator<Buffer> {
  const names = Object.keys(columns);
  const lines = (records: unknown[][]) =>
    Buffer.from(stringify(records, { record_delimiter: 'windows', escape_formulas: true }));
  yield lines([Object.values(columns)]);
  for await (const rows of batches) {
    if (rows.length > 0) yield lines(rows.map((row) => names.map((name) => row[name] ?? '')));
  }
}
