import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { PermanentError } from '@gatehouse/events/job';
import type { ReportDefinition, Row } from '../report-types.ts';

/** The title of a document, the time zone of the days in its chart, and the layout of its rows. */
export type PdfTask = {
  about: { title: string; lines: readonly string[]; timeZone: string };
  definition: Pick<ReportDefinition, 'columns' | 'chart' | 'amounts'>;
};

/** Two reports are made at a time, in a container of 512 MB. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 };

/**
 * A report as PDF, rendered in a thread of its own: laying out text would keep the event loop for seconds, and what runs out of
 * memory there ends the thread only. Throws PermanentError when that happens.
 */
export async function* renderPdf(
  { about, definition: { columns, chart, amounts = [] } }: PdfTask,
  batches: AsyncIterable<readonly Row[]>,
  resourceLimits = RESOURCE_LIMITS,
): AsyncGenerator<Uint8Array> {
  const task: PdfTask = { about, definition: { columns, chart, amounts } };
  const thread = new Worker(new URL('./pdf-thread.ts', import.meta.url), {
    workerData: task,
    stdout: true,
    env: {},
    resourceLimits,
  });
  // Rejects with the error that ended the thread.
  const ended = once(thread, 'exit');
  ended.catch(() => {});
  let isOver = false;
  async function send(): Promise<void> {
    for await (const rows of batches) {
      if (isOver) return;
      thread.postMessage(rows);
    }
    thread.postMessage(null);
  }
  const sent = send();
  sent.catch(() => thread.terminate());
  try {
    yield* thread.stdout as AsyncIterable<Uint8Array>;
    await ended;
    await sent;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
    throw new PermanentError('The report is too large for PDF: choose a shorter period, a filter, or CSV.');
  } finally {
    isOver = true;
    await thread.terminate();
  }
}
