import { createHmac } from 'node:crypto';
import { createSealer, deriveKeys, type KeyList, type Sealer } from '@gatehouse/core/sealing';
import { defineCollection } from '@gatehouse/data/collection';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { JOB_INDEXES, type JobState, newJob } from '@gatehouse/data/job-document';
import type { Connection } from 'mongoose';
import {
  type BatchFilter,
  type Import,
  type ImportBatch,
  type ImportCounts,
  type ImportRow,
  type ImportStore,
  NO_ROWS,
} from './import.ts';

const IMPORTS = 'imports';
const BATCHES = 'import_batches';
export const LANE = 'all';
/**
 * How long an import is kept. The API remembers an Idempotency-Key for as long, from its first use on, so that nothing is created
 * twice by an import that is run again.
 */
const KEPT_MS = 24 * 3_600_000;

type SealedFields = Pick<Import, 'file' | 'columns' | 'cause' | 'secret'>;
export type ImportDocument = Omit<Import, 'id' | 'createdAt' | keyof SealedFields> & {
  _id: string;
  /** The person's id, as a keyed hash. */
  owner: string;
  /** The same while it is running: one of each owner runs at a time. */
  active: string | null;
  sealed: string;
  job: JobState | null;
  created_at: Date;
  expires_at: Date;
};

const EXPIRY = { fields: { expires_at: 1 }, options: { name: 'expires_at_1' } } as const;
const ACTIVE = {
  fields: { active: 1 },
  options: { name: 'active_1', unique: true, partialFilterExpression: { active: { $gt: '' } } },
} as const;
const OWNER = {
  fields: { owner: 1, created_at: -1 },
  options: { name: 'owner_1_created_at_-1' },
} as const;

/** Imports in MongoDB, with the content of files sealed; the sweeper removes those that have expired. */
export function createImportStore(connection: Connection, masterKeys: KeyList) {
  const imports = defineCollection<ImportDocument>(connection, IMPORTS, [
    JOB_INDEXES.due,
    ACTIVE,
    OWNER,
    EXPIRY,
  ]);
  const sealer = createSealer(deriveKeys(masterKeys, 'dashboard imports'));
  const batches = createBatchStore(connection, sealer);
  const [ownerKey] = deriveKeys(masterKeys, 'dashboard import owners');
  const ownerOf = (person: string) => createHmac('sha256', ownerKey).update(person).digest('base64url');
  const sealed = (id: string, { file, columns, cause, secret }: SealedFields) =>
    sealer.seal(JSON.stringify({ file, columns, cause, secret }), id);

  function importOf({ _id: id, sealed, created_at: createdAt, ...stored }: ImportDocument): Import {
    const { kind, phase, state, reason, session, rows, planned, done } = stored;
    const opened = JSON.parse(sealer.open(sealed, id)) as SealedFields;
    return { id, kind, phase, state, reason, session, rows, planned, done, createdAt, ...opened };
  }

  async function remove(ids: readonly string[]): Promise<void> {
    await imports.deleteMany({ _id: { $in: [...ids] } });
    await batches.removeOf(ids);
  }

  const store: ImportStore = {
    ...batches.store,
    async insert(person, it) {
      const { id, kind, phase, state, reason, session, rows, planned, done, createdAt } = it;
      const owner = ownerOf(person);
      try {
        await imports.insertOne({
          ...{ _id: id, owner, active: owner, kind, phase, state, reason, session, rows, planned, done },
          ...{ sealed: sealed(id, it), job: newJob({ lane: LANE, priority: 'normal', owner }) },
          ...{ created_at: createdAt, expires_at: new Date(createdAt.getTime() + KEPT_MS) },
        });
        return owner;
      } catch (error) {
        if (duplicateKeyField(error) === 'active') return undefined;
        throw error;
      }
    },
    async find(id, person) {
      const isOwn = person === undefined ? {} : { owner: ownerOf(person) };
      const found = await imports.findOne({ _id: id, ...isOwn, expires_at: { $gt: new Date() } });
      return found === null ? undefined : importOf(found);
    },
    async list(person, kind) {
      const filter = { owner: ownerOf(person), kind, expires_at: { $gt: new Date() } };
      return (await imports.find(filter, { sort: { created_at: -1 } }).toArray()).map(importOf);
    },
    hasRunning: async (person) => (await imports.findOne({ active: ownerOf(person) })) !== null,
    async start(person, from, { phase, session, cause }) {
      const owner = ownerOf(person);
      const { id, state } = from;
      const job = newJob({ lane: LANE, priority: 'normal', owner });
      const running = { phase, session, state: 'running', reason: null, active: owner } as const;
      try {
        const { matchedCount } = await imports.updateOne(
          { _id: id, owner, state, phase: from.phase, active: null },
          { $set: { ...running, job, sealed: sealed(id, { ...from, cause }) } },
        );
        return matchedCount === 1 ? owner : undefined;
      } catch (error) {
        if (duplicateKeyField(error) === 'active') return undefined;
        throw error;
      }
    },
    async cancel(id, person) {
      const own = { _id: id, owner: ownerOf(person) };
      await imports.updateOne({ ...own, state: 'running' }, { $set: { state: 'cancelling' } });
      // Otherwise its worker ends it.
      await imports.updateOne({ ...own, state: 'cancelling', 'job.holder': null } as never, {
        $set: { state: 'cancelled', active: null, job: null },
      });
    },
    async advance(id, holder, { planned, done }) {
      const filter = { _id: id, 'job.holder': holder } as never;
      // The next attempt counts again.
      await imports.updateOne(
        filter,
        { $set: { planned, done } },
        { writeConcern: { w: 1, journal: false } },
      );
    },
    remove: (id) => remove([id]),
    async removeOld(person, keep) {
      const owner = ownerOf(person);
      const idsOf = async (filter: object, skip = 0) =>
        (
          await imports
            .find(
              { owner, active: null, ...filter },
              { projection: { _id: 1 }, sort: { created_at: -1 }, skip },
            )
            .toArray()
        ).map(({ _id }) => _id);
      await remove(await idsOf({ phase: 'check' }));
      await remove(await idsOf({}, keep));
    },
  };
  return { store, collection: connection.collection(IMPORTS), expiring: [IMPORTS, BATCHES] };
}

type BatchDocument = {
  _id: string;
  /** Null when no row is left. */
  sealed: string | null;
  open: boolean;
  problems: number;
  planned: ImportCounts;
  done: ImportCounts;
  expires_at: Date;
};
const FILTERS: Record<BatchFilter, object> = {
  open: { open: true },
  planned: { $or: [{ 'planned.create': { $gt: 0 } }, { 'planned.change': { $gt: 0 } }] },
  problems: { problems: { $gt: 0 } },
  kept: { sealed: { $ne: null } },
};

/** The batches of the rows of imports, sealed. */
function createBatchStore(connection: Connection, sealer: Sealer) {
  const batches = defineCollection<BatchDocument>(connection, BATCHES, [EXPIRY]);
  const batchesOf = (id: string) => ({ _id: { $gte: `${id}.`, $lt: `${id}/` } });
  const sealedRows = (id: string, rows: readonly ImportRow[]) => ({
    sealed: rows.length === 0 ? null : sealer.seal(JSON.stringify(rows), id),
    open: rows.some(({ isRefused }) => !isRefused),
    problems: rows.filter(({ problems = [] }) => problems.length > 0).length,
  });

  /** The ciphertext of a batch when it was read. */
  const read = new WeakMap<ImportBatch, string>();

  const store: Pick<ImportStore, 'putRows' | 'batches' | 'saveBatch' | 'counts'> = {
    async putRows(importId, n, rows) {
      const id = `${importId}.${String(n).padStart(5, '0')}`;
      const counts = { planned: NO_ROWS, done: NO_ROWS };
      const expiresAt = new Date(Date.now() + KEPT_MS);
      await batches.insertOne({ _id: id, ...sealedRows(id, rows), ...counts, expires_at: expiresAt });
    },
    async *batches(id, which) {
      const filter = { ...batchesOf(id), ...FILTERS[which] };
      for await (const { _id, sealed, planned, done } of batches.find(filter, {
        sort: { _id: 1 },
        batchSize: 10,
      })) {
        if (sealed === null) continue;
        const rows = JSON.parse(sealer.open(sealed, _id)) as ImportRow[];
        const batch = { id: _id, rows, planned, done };
        read.set(batch, sealed);
        yield batch;
      }
    },
    async saveBatch(before, { rows, planned, done }) {
      const { id } = before;
      const { matchedCount } = await batches.updateOne(
        { _id: id, sealed: read.get(before) ?? null },
        { $set: { ...sealedRows(id, rows), planned, done } },
      );
      return matchedCount === 1;
    },
    async counts(id) {
      const sums = Object.fromEntries(
        ['planned', 'done'].flatMap((of) =>
          Object.keys(NO_ROWS).map((action) => [`${of}_${action}`, { $sum: `$${of}.${action}` }]),
        ),
      );
      const [found = {}] = await batches
        .aggregate<Record<string, number>>([{ $match: batchesOf(id) }, { $group: { _id: null, ...sums } }])
        .toArray();
      const of = (name: string) =>
        Object.fromEntries(
          Object.keys(NO_ROWS).map((action) => [action, found[`${name}_${action}`] ?? 0]),
        ) as ImportCounts;
      return { planned: of('planned'), done: of('done') };
    },
  };
  return {
    store,
    async removeOf(importIds: readonly string[]): Promise<void> {
      for (const id of importIds) await batches.deleteMany(batchesOf(id));
    },
  };
}
