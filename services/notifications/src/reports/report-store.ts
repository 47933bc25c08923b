import { ServiceError } from '@gatehouse/core/errors';
import type { IndexDefinition, StoredDocument } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { createDocumentStore } from '@gatehouse/data/document-store';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { JOB_INDEXES, type JobState, newJob } from '@gatehouse/data/job-document';
import { createListPlan } from '@gatehouse/data/list-plan';
import { insertInSlot } from '@gatehouse/data/slots';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { ReportStatus } from '@gatehouse/domain/report-fields';
import type { Collection, Connection } from 'mongoose';
import { MAX_UNFINISHED, REPORT, type Report, type ReportStore } from './report.ts';

export const REPORTS = 'reports';

export type ReportDocument = StoredOf<typeof REPORT> &
  VersionedDocument & {
    /** Its place among those that have not ended of the requester, or of somebody else who gave the credential. */
    unfinished?: { requester: string; slot: number } | null;
    /** The requester, while it is made: of each, one is made at a time. */
    making?: string | null;
    /** Null once it has ended. */
    job?: JobState | null;
    /** When the report itself is forgotten. */
    expires_at: Date;
  };

const { projection, read, write, listFields } = createDocumentMapper(REPORT);
const LISTS = createListPlan({ fields: listFields, prefix: 'requester' });

const UNFINISHED = ['queued', 'running'] as const;
/** How long a report is remembered after its end or that of its file, and one that never ends. */
const KEPT_MS = 90 * 86_400_000;

/** The number of reports of one sweep; the next one does the rest. */
const SWEEP_LIMIT = 100;

const FILE_INDEX = {
  fields: { file_expires_at: 1 },
  options: { name: 'file_expires_at', partialFilterExpression: { file_expires_at: { $gt: new Date(0) } } },
} as const;
const UNFINISHED_INDEX: IndexDefinition = {
  fields: { 'unfinished.requester': 1, 'unfinished.slot': 1 },
  options: { name: 'unfinished', unique: true, partialFilterExpression: { 'unfinished.slot': { $gte: 0 } } },
};
const MAKING_INDEX: IndexDefinition = {
  fields: { making: 1 },
  options: { name: 'making', unique: true, partialFilterExpression: { making: { $gt: '' } } },
};
const EXPIRY_INDEX = { fields: { expires_at: 1 }, options: { name: 'expires_at' } } as const;

type Reports = Collection<StoredDocument>;

/** Reports in MongoDB; defines its collection on the connection. */
export function createReportStore(
  connection: Connection,
): ReportStore & { collection: ReturnType<Connection['collection']> } {
  const store = createDocumentStore(connection, {
    name: REPORTS,
    noun: 'report',
    plan: LISTS,
    indexes: [...Object.values(JOB_INDEXES), FILE_INDEX, UNFINISHED_INDEX, MAKING_INDEX, EXPIRY_INDEX],
    projection,
    read,
    write: fieldsOf,
    duplicate: () => new ServiceError('conflict', 'This report already exists.'),
  });
  const reports = connection.collection<StoredDocument>(REPORTS);

  /** One conditional write, which raises the version. */
  async function change(
    id: string,
    from: readonly ReportStatus[],
    fields: Partial<ReportDocument>,
  ): Promise<Report | undefined> {
    const document = await reports.findOneAndUpdate(
      { _id: id, status: { $in: [...from] } },
      { $set: { ...fields, updated_at: new Date() }, $inc: { version: 1 } } as never,
      { returnDocument: 'after' },
    );
    return document === null ? undefined : read(document as unknown as ReportDocument);
  }

  return {
    collection: connection.collection(REPORTS),
    byOffset: store.byOffset,
    byKeyset: store.byKeyset,
    count: store.count,
    within: store.within,
    findById: store.findById,
    insert: (report, asker) => insertUnfinished(reports, report, asker),
    async start(id) {
      const found = await reports.findOne({ _id: id }, { projection: { unfinished: 1 } });
      const { requester: asker } = Object(found?.unfinished) as { requester?: string };
      if (asker === undefined) return undefined;
      try {
        return await change(id, UNFINISHED, {
          status: 'running',
          started_at: new Date(),
          progress: 0,
          rows: 0,
          making: asker,
        });
      } catch (error) {
        if (duplicateKeyField(error) === 'making') return 'waits';
        throw error;
      }
    },
    async interrupt(id) {
      await reports.updateOne({ _id: id, status: 'running' }, { $set: { making: null } } as never);
    },
    async advance(id, progress, rows) {
      const { matchedCount } = await reports.updateOne(
        { _id: id, status: 'running' },
        { $set: { progress, rows } },
        // Progress that is lost in a crash is made again.
        { writeConcern: { w: 1, journal: false } },
      );
      return matchedCount === 1;
    },
    async complete(id, { fileId, rows, bytes, expiresAt }) {
      const file = { file_id: fileId, rows, bytes, file_expires_at: expiresAt };
      const fields = {
        ...ended(),
        ...file,
        progress: 100,
        completed_at: new Date(),
        // Not before its file is removed, which is found by the report.
        expires_at: new Date(expiresAt.getTime() + KEPT_MS),
      };
      return (await change(id, ['running'], { ...fields, status: 'completed' })) !== undefined;
    },
    async fail(id, error) {
      // The delegation is kept: it may be made after all.
      const { delegation: _, ...fields } = ended();
      return (await change(id, UNFINISHED, { ...fields, status: 'failed', error })) !== undefined;
    },
    cancel: async (id) =>
      (await change(id, [...UNFINISHED, 'failed'], { ...ended(), status: 'cancelled', job: null })) !==
      undefined,
    async expire(id) {
      await change(id, ['completed'], { status: 'expired', file_expires_at: new Date() });
    },
    async fileRemoved(id) {
      await reports.updateOne({ _id: id, status: 'expired' }, { $unset: { file_expires_at: '' } } as never);
    },
    expiredBy: (now) => idsOf(reports, { file_expires_at: { $lte: now } }, SWEEP_LIMIT),
    about: (userId) =>
      idsOf(reports, {
        $or: [
          { requester: userId },
          { $expr: { $gte: [{ $indexOfCP: ['$filters', { $literal: userId }] }, 0] } },
        ],
      }),
    listingUsers: (before) =>
      idsOf(reports, { type: 'users', status: 'completed', started_at: { $lt: before } }),
    async remove(id) {
      await reports.deleteOne({ _id: id });
    },
  };
}

async function idsOf(reports: Reports, filter: Record<string, unknown>, limit = 0): Promise<string[]> {
  const found = reports.find(filter, { projection: { _id: 1 }, limit });
  return (await found.toArray()).map(({ _id }) => _id);
}

/** Inserts a report in a free place of those that have not ended of the asker, if there is one. */
function insertUnfinished(reports: Reports, report: Report, asker: string) {
  return insertInSlot({
    limit: MAX_UNFINISHED,
    field: 'unfinished.requester',
    async taken() {
      const filter = { 'unfinished.requester': asker, 'unfinished.slot': { $gte: 0 } };
      const found = reports.find(filter, { projection: { _id: 0, 'unfinished.slot': 1 } });
      return (await found.toArray()).map(({ unfinished }) => Object(unfinished) as { slot?: number });
    },
    insert: (slot) =>
      reports.insertOne({
        ...fieldsOf(report),
        _id: report.id,
        job: jobOf(report, asker),
        unfinished: { requester: asker, slot },
      } as unknown as StoredDocument),
  });
}

/** The fields of a report that has ended. */
const ended = () => ({
  delegation: null,
  unfinished: null,
  making: null,
  expires_at: new Date(Date.now() + KEPT_MS),
});

/** The lane of the reports. */
export const LANE = 'all';

export const jobOf = ({ updatedAt }: Pick<Report, 'updatedAt'>, asker: string) =>
  newJob({ lane: LANE, priority: 'normal', owner: asker }, updatedAt);

function fieldsOf(report: Report): Omit<ReportDocument, '_id'> {
  return { ...write(report), expires_at: new Date(report.createdAt.getTime() + KEPT_MS) };
}
