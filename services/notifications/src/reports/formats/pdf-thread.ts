// The thread of renderPdf(): the rows come as messages, null after the last, and the document goes to stdout.
import { on } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Row } from '../report-types.ts';
import { pdfReport } from './pdf-report.ts';
import type { PdfTask } from './render-pdf.ts';

async function* batches(): AsyncGenerator<readonly Row[]> {
  if (parentPort === null) return;
  for await (const [rows] of on(parentPort, 'message')) {
    if (rows === null) return;
    yield rows as readonly Row[];
  }
}

const { about, definition } = workerData as PdfTask;
await pipeline(pdfReport(about, definition, batches()), process.stdout);
