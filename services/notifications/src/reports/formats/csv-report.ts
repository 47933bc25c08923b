import { csvHeader, csvLines } from '@gatehouse/api/http/csv';
import type { Row } from '../report-types.ts';

/** A report as CSV: a line of titles, then one for each row. */
export async function* csvReport(
  columns: Readonly<Record<string, string>>,
  batches: AsyncIterable<readonly Row[]>,
): AsyncGenerator<Buffer> {
  const names = Object.keys(columns);
  yield Buffer.from(csvHeader(Object.values(columns)));
  for await (const rows of batches) {
    if (rows.length > 0) yield Buffer.from(csvLines(rows.map((row) => names.map((name) => row[name] ?? ''))));
  }
}
