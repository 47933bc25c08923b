import type { Row } from '../report-types.ts';

/** A report as one JSON object: what it is about, and its rows. */
export async function* jsonReport(
  about: Readonly<Record<string, unknown>>,
  batches: AsyncIterable<readonly Row[]>,
): AsyncGenerator<Buffer> {
  yield Buffer.from(`${JSON.stringify(about).slice(0, -1)},"rows":[`);
  let separator = '\n';
  for await (const rows of batches) {
    if (rows.length === 0) continue;
    yield Buffer.from(separator + rows.map((row) => JSON.stringify(row)).join(',\n'));
    separator = ',\n';
  }
  yield Buffer.from('\n]}\n');
}
