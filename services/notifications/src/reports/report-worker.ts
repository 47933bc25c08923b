import { randomUUID } from 'node:crypto';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { type Attempt, type Job, type Outcome, PermanentError, PostponedError } from '@gatehouse/events/job';
import { createApiReader } from './api-reader.ts';
import type { DelegationClient } from './delegation-client.ts';
import { amountsAsText } from './formats/amounts.ts';
import { csvReport } from './formats/csv-report.ts';
import { jsonReport } from './formats/json-report.ts';
import { renderPdf } from './formats/render-pdf.ts';
import type { Report, ReportFileStore, ReportStore } from './report.ts';
import { minuteText, periodText } from './report-period.ts';
import { REPORTS, type ReportDefinition, type Row } from './report-types.ts';

/** How often progress is written, and a cancellation noticed. */
const ADVANCE_MS = 500;
/** How long a report waits while another one of the same requester is made. */
const TURN_MS = 1000;
const FAILED = 'The report could not be made.';

/**
 * Makes the report of a job. A report that was started before is made again, into another file. One report of each requester
 * is made at a time, however many wait, so that nobody keeps the others waiting.
 */
export function createReportHandler(options: {
  store: ReportStore;
  files: ReportFileStore;
  delegations: Pick<DelegationClient, 'tokens' | 'applicationNames'>;
  origins: Parameters<typeof createApiReader>[0]['origins'];
  /** How long files are kept, in seconds. */
  fileSeconds: number;
}): (job: Pick<Job, 'id'>, attempt: Pick<Attempt, 'signal'>) => Promise<void> {
  const { store, files, delegations } = options;

  /** Writes the file; resolves to the number of rows. */
  async function make(report: Report, fileId: string, signal: AbortSignal) {
    const { id, delegation } = report;
    if (delegation === null) throw new PermanentError(FAILED);
    const api = createApiReader({ origins: options.origins, token: delegations.tokens(delegation), signal });
    const applicationNames = (ids: readonly string[]) => delegations.applicationNames(delegation, ids);
    const reader = { ...api, applicationNames };
    const cancelled = new AbortController();
    const either = AbortSignal.any([signal, cancelled.signal]);
    let rows = 0;
    let percent = 0;
    async function* batches(): AsyncGenerator<readonly Row[]> {
      for await (const batch of REPORTS[report.type].batches(reader, report)) {
        either.throwIfAborted();
        rows += batch.rows.length;
        // Rows that are written during the reading may lengthen the list.
        percent = Math.min(99, Math.floor((batch.done / Math.max(batch.total, 1)) * 100));
        yield batch.rows;
      }
    }
    const advancing = createPeriodicTask({
      everyMs: () => ADVANCE_MS,
      async run() {
        if (!(await store.advance(id, percent, rows))) cancelled.abort(new Cancelled());
      },
      onError() {},
    });
    advancing.start();
    try {
      const bytes = await files.write(fileId, contentOf(report, batches()), either);
      return { rows, bytes };
    } catch (error) {
      throw cancelled.signal.aborted ? new Cancelled() : error;
    } finally {
      await advancing.stop();
    }
  }

  return async ({ id }, { signal }) => {
    const report = await store.start(id);
    if (report === 'waits') {
      throw new PostponedError('Another report of the same requester is being made.', TURN_MS);
    }
    // It has ended, perhaps after a process that made it was killed.
    if (report === undefined) return removeUnused(id, options);
    const fileId = `${id}.${randomUUID()}`;
    try {
      const made = await make(report, fileId, signal);
      const expiresAt = new Date(Date.now() + options.fileSeconds * 1000);
      await store.complete(id, { fileId, ...made, expiresAt });
      await removeUnused(id, options, fileId);
    } catch (error) {
      // The report may be completed even so: by another process that was taken for dead, or if only the response was lost.
      await removeUnused(id, options, fileId);
      if (error instanceof Cancelled) return;
      await store.interrupt(id);
      throw error;
    }
  };
}

/**
 * Removes the files of a report that has ended, but for the one that it is completed with. While it is made, others may be
 * writing theirs, and only the one given is removed.
 */
export async function removeUnused(
  id: string,
  {
    store,
    files,
  }: { store: Pick<ReportStore, 'findById'>; files: Pick<ReportFileStore, 'remove' | 'removeOthers'> },
  fileId?: string,
): Promise<void> {
  const report = await store.findById(id);
  const isMade = report?.status === 'queued' || report?.status === 'running';
  if (!isMade) await files.removeOthers(id, (report?.status === 'completed' && report.fileId) || undefined);
  else if (fileId !== undefined) await files.remove(fileId);
}

/** Marks a report as failed after its last attempt. Calls `announce` with the end of each. May be called again. */
export async function endReport(
  id: string,
  outcome: Outcome,
  options: {
    store: Pick<ReportStore, 'findById' | 'fail'>;
    files: Pick<ReportFileStore, 'remove' | 'removeOthers'>;
    announce(report: Report, status: 'completed' | 'failed'): Promise<void>;
  },
): Promise<void> {
  if ('retryInMs' in outcome) return;
  const report = await options.store.findById(id);
  // Nothing about one that was cancelled.
  if (report === undefined || report.status === 'cancelled') return;
  if (outcome.result === 'succeeded') {
    if (report.status === 'completed') await options.announce(report, 'completed');
    return;
  }
  await options.announce(report, 'failed');
  await options.store.fail(id, outcome.result === 'dead' ? FAILED : outcome.error);
  await removeUnused(id, options);
}

/** Somebody has cancelled the report. */
class Cancelled extends Error {}

async function* amountsIn(definition: ReportDefinition, batches: AsyncIterable<readonly Row[]>) {
  const asText = amountsAsText(definition);
  for await (const rows of batches) yield rows.map(asText);
}

function contentOf(report: Report, batches: AsyncIterable<readonly Row[]>): AsyncIterable<Uint8Array> {
  const { type, format, from, to, timezone, filters } = report;
  const definition = REPORTS[type];
  const generated = new Date().toISOString();
  if (format === 'csv') return csvReport(definition.columns, amountsIn(definition, batches));
  if (format === 'json') {
    return jsonReport(
      { type, from, to, timezone, filters, generated_at: generated, columns: definition.columns },
      batches,
    );
  }
  const filtered = Object.entries(filters).map(([name, value]) => `${name}: ${value}`);
  const title = `${type.charAt(0).toUpperCase()}${type.slice(1)} report`;
  const lines = [
    `Period: ${periodText(report)}`,
    ...filtered,
    `Generated ${minuteText(new Date(generated))}`,
  ];
  return renderPdf({ about: { title, lines, timeZone: timezone }, definition }, batches);
}
