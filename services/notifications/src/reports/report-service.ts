import { invalidFields } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { ListSource } from '@gatehouse/kit/list-query';
import {
  ownerOf,
  periodProblems,
  type Report,
  type ReportField,
  type ReportFileStore,
  type ReportRequest,
  type ReportStore,
  type Requester,
  requiredRequester,
  requireStaff,
} from './report.ts';
import { filterProblems, REPORTS } from './report-types.ts';

/** The use cases. For a report of somebody else they throw `not_found`, as if it did not exist. */
export type ReportService = {
  /** Their own. */
  listFor(requester: Requester): ListSource<ReportField, Report>;
  /**
   * Accepts a report to be made. `delegate` hands the asker's credential on, and is called last. Throws `forbidden` when
   * the asker may not read what it shows, and `conflict` when they have too many that are not finished.
   */
  request(
    draft: ReportRequest & { id: string },
    requester: Requester & { scopes: ReadonlySet<string> },
    delegate: () => Promise<string>,
  ): Promise<Report>;
  read(id: string, requester: Requester): Promise<Report>;
  /** Cancels a report that is not finished, and removes the file of one that is. */
  remove(id: string, requester: Requester): Promise<void>;
  /** The file of a completed report; throws `conflict` while there is none. */
  file(id: string, requester: Requester): Promise<{ report: Report; fileId: string; bytes: number }>;
};

/** How many reports of one asker may be unfinished at a time. */
const MAX_UNFINISHED = 20;

export function createReportService(options: {
  store: ReportStore;
  files: Pick<ReportFileStore, 'remove'>;
  newJobId: () => string;
}): ReportService {
  const { store, files } = options;

  async function read(id: string, requester: Requester): Promise<Report> {
    requireStaff(requester);
    const report = await store.findById(id, requiredRequester(requester));
    if (report === undefined) throw new ServiceError('not_found', 'There is no such report.');
    return report;
  }

  async function refuseTooMany(requester: string): Promise<void> {
    const unfinished = [{ field: 'status', operator: 'in', values: ['queued', 'running'] } as const];
    if ((await store.within(requester).count(unfinished)) < MAX_UNFINISHED) return;
    throw new ServiceError(
      'conflict',
      `${MAX_UNFINISHED} of your reports are not finished: wait for one, or cancel one.`,
    );
  }

  return {
    listFor(requester) {
      requireStaff(requester);
      return store.within(ownerOf(requester));
    },

    async request({ id = newId('rpt'), type, format, from, to, filters }, requester, delegate) {
      requireStaff(requester);
      const problems = [...periodProblems({ from, to }), ...filterProblems({ type, filters })];
      if (problems.length > 0) throw invalidFields(problems);
      const { scopes } = REPORTS[type];
      if (!scopes.some((scope) => requester.scopes.has(scope))) {
        throw new ServiceError(
          'forbidden',
          `A report of this type needs the scope ${scopes.join(' or ')}, too.`,
        );
      }
      const owner = ownerOf(requester);
      await refuseTooMany(owner);
      const now = new Date();
      const report: Report = {
        ...{ id, type, format, from, to, filters, requester: owner },
        ...{ delegation: await delegate(), jobId: options.newJobId() },
        ...{ status: 'queued', progress: 0, rows: 0, bytes: null, fileId: null, error: null, version: 1 },
        ...{ createdAt: now, updatedAt: now, startedAt: null, completedAt: null, expiresAt: null },
      };
      await store.insert(report);
      return report;
    },

    read,

    async remove(id, requester) {
      await read(id, requester);
      if (await store.cancel(id)) return;
      const fileId = await store.expire(id);
      if (fileId !== undefined) await files.remove(fileId);
    },

    async file(id, requester) {
      const report = await read(id, requester);
      const { status, fileId, bytes } = report;
      if (status !== 'completed' || fileId === null || bytes === null) {
        throw new ServiceError('conflict', `The report has no file: it is ${status}.`);
      }
      return { report, fileId, bytes };
    },
  };
}
