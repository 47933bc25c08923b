import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { ListSource } from '@gatehouse/domain/list-query';
import { chargedTo } from '@gatehouse/tokens/caller';
import { ROLES } from '@gatehouse/tokens/scopes';
import {
  expireReport,
  MAX_UNFINISHED,
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
import { beginsBefore } from './report-period.ts';
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
    requester: Requester,
    delegate: () => Promise<string>,
  ): Promise<Report>;
  read(id: string, requester: Requester): Promise<Report>;
  /** Cancels a report that is not finished or has failed, and removes the file of one that is completed. */
  remove(id: string, requester: Requester): Promise<void>;
  /** The file of a completed report; throws `conflict` while there is none, and `forbidden` as `request` does. */
  file(id: string, requester: Requester): Promise<{ report: Report; fileId: string; bytes: number }>;
};

const NEW = {
  status: 'queued',
  progress: 0,
  rows: 0,
  bytes: null,
  fileId: null,
  error: null,
  version: 1,
} as const;
const NO_TIMES = { startedAt: null, completedAt: null, expiresAt: null };

export function createReportService(options: {
  store: ReportStore;
  files: Pick<ReportFileStore, 'removeOthers'>;
  /** Announces the job of a report that was stored. */
  announce: (report: Report, asker: string) => void;
  /** How many days back a report of values by day may go. */
  usageDays: number;
}): ReportService {
  const { store, files, announce, usageDays } = options;

  async function read(id: string, requester: Requester): Promise<Report> {
    requireStaff(requester);
    const report = await store.findById(id, requiredRequester(requester));
    if (report === undefined) throw new ServiceError('not_found', 'There is no such report.');
    return report;
  }

  return {
    listFor(requester) {
      requireStaff(requester);
      return store.within(ownerOf(requester));
    },

    async request({ id = newId('rpt'), type, format, from, to, timezone, filters }, requester, delegate) {
      requireStaff(requester);
      const problems = [...periodProblems({ from, to }), ...filterProblems({ type, filters })];
      if (REPORTS[type].period !== undefined && timezone !== 'UTC') {
        problems.push({ field: 'timezone', message: `must be UTC, by whose days ${type} is counted` });
      }
      if (problems.length > 0) throw invalidFields(problems);
      requireScopesOf(REPORTS[type].scopes, requester);
      const owner = ownerOf(requester);
      const now = new Date();
      const period = REPORTS[type].period?.({ from, to }, now) ?? { from, to };
      if (period.from !== null && period.to !== null && period.from >= period.to) {
        throw invalidFields([{ field: 'from', message: 'must not be after today' }]);
      }
      if (REPORTS[type].period !== undefined && beginsBefore(period, usageDays, now)) {
        const message = `must be within the last ${usageDays} days`;
        throw invalidFields([{ field: from === null ? 'to' : 'from', message }]);
      }
      const request = { id, type, format, ...period, timezone, filters, requester: owner };
      const report: Report = {
        ...request,
        role: requester.person?.role ?? null,
        delegation: await delegate(),
        ...NEW,
        ...NO_TIMES,
        createdAt: now,
        updatedAt: now,
      };
      const asker = chargedTo(requester);
      if (!(await store.insert(report, asker))) {
        throw new ServiceError(
          'conflict',
          `${MAX_UNFINISHED} of your reports are not finished: wait for one, or cancel one.`,
        );
      }
      announce(report, asker);
      return report;
    },

    read,

    async remove(id, requester) {
      await read(id, requester);
      if (await store.cancel(id)) return;
      await expireReport(id, store, files);
    },

    async file(id, requester) {
      const report = await read(id, requester);
      requireReadAccess(report, REPORTS[report.type].scopes, requester);
      const { status, fileId, bytes } = report;
      if (status !== 'completed' || fileId === null || bytes === null) {
        throw new ServiceError('conflict', `The report has no file: it is ${status}.`);
      }
      return { report, fileId, bytes };
    },
  };
}

/**
 * Throws `forbidden` unless the reader may see as much as the person who asked for the report. `scopes` are those that its type needs, as
 * the reader may use another credential.
 */
function requireReadAccess({ role }: Report, scopes: readonly string[], reader: Requester): void {
  requireScopesOf(scopes, reader);
  if (role === null || reader.person === undefined) return;
  if (rankOf(reader.person.role) >= rankOf(role)) return;
  throw new ServiceError('forbidden', `The report contains data that only the role ${role} may read.`);
}

/** Throws `forbidden` unless the requester has one of the scopes that a type of report needs. */
function requireScopesOf(needed: readonly string[], { scopes }: Pick<Requester, 'scopes'>): void {
  if (needed.some((scope) => scopes.has(scope))) return;
  throw new ServiceError('forbidden', `A report of this type needs the scope ${needed.join(' or ')}, too.`);
}

const rankOf = (role: string) => ROLES.indexOf(role as (typeof ROLES)[number]);
