import { type FieldProblem, ServiceError } from '@gatehouse/core/errors';
import { date, type EntityOf, id, type ListFieldOf, number, oneOf, text } from '@gatehouse/domain/fields';
import type { ListSource } from '@gatehouse/domain/list-query';
import { REPORT_FORMATS, REPORT_STATUSES, REPORT_TYPES } from '@gatehouse/domain/report-fields';

/** The request for a report. Its period is from `from` on and before `to`. */
const REQUEST = {
  type: oneOf(REPORT_TYPES).list(),
  format: oneOf(REPORT_FORMATS).list(),
  from: date().default(null),
  to: date().default(null),
  /** The IANA time zone of its days. */
  timezone: text().default('UTC'),
  /** By the name of a filter of the list that the report is made from. Stored as text, since these names are not ours. */
  filters: text().convert<Readonly<Record<string, string>>>({ read: JSON.parse, write: JSON.stringify }),
};
export type ReportRequest = EntityOf<typeof REQUEST>;

export const REPORT = {
  ...REQUEST,
  id: id(),
  /** The requester: a person, or a machine by its client id. */
  requester: text(),
  /** The role of the requester then, whose view the report is; null for a machine. */
  role: text().default(null),
  /** The delegation by which it is read for them; a secret, forgotten when the report has ended. */
  delegation: text().default(null),
  status: oneOf(REPORT_STATUSES).list(),
  /** The share that is done, in percent. */
  progress: number(),
  rows: number(),
  /** The size of the file. */
  bytes: number().default(null),
  fileId: text().default(null),
  /** Why it failed. */
  error: text().default(null),
  version: number().default(0),
  createdAt: date().list(),
  updatedAt: date(),
  startedAt: date().default(null),
  completedAt: date().default(null),
  /** When the file is removed. */
  expiresAt: date().stored('file_expires_at').default(null),
};
export type Report = EntityOf<typeof REPORT>;
export type ReportField = ListFieldOf<typeof REPORT>;

/** The store as the use cases need it. Each change is one conditional write, and undefined when the report was not in a state for it. */
export type ReportStore = ListSource<ReportField, Report> & {
  within(requester: string): ListSource<ReportField, Report>;
  /** Resolves to false, and stores nothing, when the asker, who gave the credential, has MAX_UNFINISHED that have not ended. */
  insert(report: Report, asker: string): Promise<boolean>;
  /** With a requester, undefined for a report of another. */
  findById(id: string, requester?: string): Promise<Report | undefined>;
  /** Queued or running becomes running, from the beginning; 'waits' while another one of the requester is made. */
  start(id: string): Promise<Report | 'waits' | undefined>;
  /** It is not made for now, and another one of the requester may be. */
  interrupt(id: string): Promise<void>;
  /** Resolves to whether the report is still running. */
  advance(id: string, progress: number, rows: number): Promise<boolean>;
  complete(
    id: string,
    file: { fileId: string; rows: number; bytes: number; expiresAt: Date },
  ): Promise<boolean>;
  fail(id: string, error: string): Promise<boolean>;
  cancel(id: string): Promise<boolean>;
  /** Completed becomes expired; its file is to be removed. */
  expire(id: string): Promise<void>;
  /** The file of an expired report is gone. */
  fileRemoved(id: string): Promise<void>;
  /** The reports whose file is to be removed. */
  expiredBy(now: Date): Promise<string[]>;
  /** The reports that a person has requested, or that are filtered by the person. */
  about(userId: string): Promise<string[]>;
  /** The reports with a file that lists users, and was started before this time. */
  listingUsers(before: Date): Promise<string[]>;
  /** Forgets a report. */
  remove(id: string): Promise<void>;
};

/** The files of reports, where every replica sees them. */
export type ReportFileStore = {
  /** Stores the chunks as a new file; resolves to its bytes. Stores nothing when the chunks fail, or the signal is aborted. */
  write(fileId: string, chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number>;
  /** The bytes from `start` up to and without `end`. */
  read(fileId: string, range: { start: number; end: number }): AsyncIterable<Uint8Array>;
  remove(fileId: string): Promise<void>;
  /** Removes the files, whole or in part, that belong to the report, but for one. */
  removeOthers(reportId: string, kept?: string): Promise<void>;
};

/** The caller: a person, limited by role, or a machine (undefined person), by its client id. */
export type Requester = {
  person: { id: string; role: string } | undefined;
  clientId: string;
  givenBy?: string;
  scopes: ReadonlySet<string>;
};

/** How many reports of one asker may be unfinished at a time. */
export const MAX_UNFINISHED = 20;

/** The owner of the reports that the requester makes and sees. */
export function ownerOf({ person, clientId }: Requester): string {
  return person?.id ?? clientId;
}

/** The requester to whose reports the access is restricted; undefined for admins. */
export function requiredRequester(requester: Requester): string | undefined {
  return requester.person?.role === 'admin' ? undefined : ownerOf(requester);
}

/** Reports are for machines, editors and admins: they show what is not the asker's own. */
export function requireStaff({ person }: Pick<Requester, 'person'>): void {
  if (person?.role !== 'user') return;
  throw new ServiceError('forbidden', 'Reports are for editors, admins and trusted applications.');
}

const YEARS_MS = 10 * 366 * 86_400_000;

/** The problems of a period. */
export function periodProblems({ from, to }: Pick<ReportRequest, 'from' | 'to'>): FieldProblem[] {
  if (from === null || to === null) return [];
  if (from >= to) return [{ field: 'to', message: 'must be after the beginning' }];
  return to.getTime() - from.getTime() > YEARS_MS
    ? [{ field: 'from', message: 'must be at most ten years before to' }]
    : [];
}

/** Removes the reports by and about a deleted person, and the files of those that list users, who may be among them. */
export async function eraseReports(
  userId: string,
  requestedAt: Date,
  store: Pick<ReportStore, 'about' | 'listingUsers' | 'remove' | 'expire' | 'fileRemoved'>,
  files: Pick<ReportFileStore, 'removeOthers'>,
): Promise<void> {
  for (const id of await store.about(userId)) {
    await files.removeOthers(id);
    // The worker that is making the report notices that it is gone, and removes its file.
    await store.remove(id);
  }
  for (const id of await store.listingUsers(requestedAt)) await expireReport(id, store, files);
}

/** Ends a completed report and removes its file. After a crash in between, the sweep finds it and does it again. */
export async function expireReport(
  id: string,
  store: Pick<ReportStore, 'expire' | 'fileRemoved'>,
  files: Pick<ReportFileStore, 'removeOthers'>,
): Promise<void> {
  await store.expire(id);
  await files.removeOthers(id);
  await store.fileRemoved(id);
}
