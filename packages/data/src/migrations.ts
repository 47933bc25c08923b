import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import type mongoose from 'mongoose';
import type { Connection } from 'mongoose';
import type { StoredDocument } from './collection.ts';
import { duplicateKeyOperations } from './duplicate-key.ts';
import { holdLease } from './lease.ts';

/** A step that brings the documents of a database to what a new version of the service stores. */
export type Migration = {
  /** The data version that it belongs to: the same for all migrations of a release, and one more than in the release before. */
  version: number;
  /** Unique in the database. Recorded there, and so never changed. */
  name: string;
  /**
   * Must be idempotent, because it runs again after a crash, and must leave documents that the release before can use,
   * because that serves meanwhile. Runs before the indexes are created, also in an empty database.
   */
  run(context: MigrationContext): Promise<void>;
};

export type MigrationContext = {
  connection: Connection;
  /** For what an operator has to know of the documents. */
  logger: Logger;
  /**
   * Calls `convert` with every document of a collection, in the order of their ids, and performs the writes that it returns,
   * BATCH documents at a time. After a crash it continues with the batch that was not completed. A write must have no effect
   * on a document that has been written since it was read, or converted before. Once in a migration for each collection.
   *
   * @param taken converts a document whose write violated a unique index; without it, the migration fails
   */
  convertEach<D extends { _id: string }>(
    collection: string,
    convert: (document: D) => readonly Write[],
    taken?: (document: D) => Promise<void>,
  ): Promise<void>;
};

export type Write = mongoose.mongo.AnyBulkWriteOperation<StoredDocument>;

type MigrationRecord = {
  _id: string;
  version: number;
  started_at: Date;
  /** The id of the last document that was converted, by collection. */
  converted_to?: Record<string, string>;
  /** Absent until the migration has been completed. */
  applied_at?: Date;
  /** How long the run took that completed it. */
  duration_ms?: number;
};

type MigrateOptions = {
  migrations: readonly Migration[];
  /** Whether to apply what is pending, rather than to wait until another process has. */
  apply: boolean;
  signal: AbortSignal;
  logger: Logger;
  /** How long a process that was killed keeps others from continuing. */
  leaseMs?: number;
};

const RECORDS = 'migrations';
const LEASE_MS = 10_000;
const BATCH = 500;
const POLL_MS = 500;

/** The database was upgraded by a release that is more than one release ahead of this program. */
export class NewerDatabaseError extends Error {
  override name = 'NewerDatabaseError';
}

/**
 * Resolves when all migrations have been applied, in their order, by this process or another one: one process at a time
 * applies them, and the others wait.
 *
 * @throws NewerDatabaseError when the database is more than one version ahead of the program. One version ahead is the state
 * during an upgrade, and after an upgrade that was taken back.
 */
export async function migrate(connection: Connection, options: MigrateOptions): Promise<void> {
  const { migrations, apply, signal, logger, leaseMs = LEASE_MS } = options;
  for (let isReported = false; ; ) {
    signal.throwIfAborted();
    const pending = await pendingMigrations(connection, migrations);
    if (pending.length === 0) return;
    const lease = apply ? await holdLease(connection, { name: RECORDS, leaseMs }) : undefined;
    if (lease !== undefined) {
      const isHeld = AbortSignal.any([signal, lease.lost]);
      try {
        // Read again: another process may have applied some before the lease was free.
        for (const migration of await pendingMigrations(connection, migrations)) {
          await applyMigration(connection, migration, isHeld, logger);
        }
      } catch (error) {
        if (!lease.lost.aborted) throw error;
        logger.warn('another process has taken over the migrations of the database');
      } finally {
        await lease.release();
      }
      continue;
    }
    if (!isReported) {
      const names = pending.map(({ name }) => name);
      logger.warn(
        { pending: names },
        apply
          ? 'waiting for another process that applies the migrations of the database'
          : 'the database has pending migrations: start this program once with the argument "migrate"; waiting until they are applied',
      );
    }
    isReported = true;
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function pendingMigrations(connection: Connection, migrations: readonly Migration[]) {
  const supported = Math.max(0, ...migrations.map(({ version }) => version)) + 1;
  const records = await connection
    .collection<MigrationRecord>(RECORDS)
    .find({}, { sort: { _id: 1 }, projection: { version: 1, applied_at: 1 } })
    .toArray();
  const newest = Math.max(0, ...records.map(({ version }) => version));
  if (newest > supported) {
    throw new NewerDatabaseError(
      `The database ${connection.name} has data version ${newest}, and this program supports versions up to ${supported}: ` +
        'start a newer one, or restore a backup from before the upgrade.',
    );
  }
  const applied = new Set(records.flatMap(({ _id, applied_at }) => (applied_at ? _id : [])));
  return migrations.filter(({ name }) => !applied.has(name));
}

async function applyMigration(
  connection: Connection,
  { name, version, run }: Migration,
  signal: AbortSignal,
  logger: Logger,
): Promise<void> {
  const records = connection.collection<MigrationRecord>(RECORDS);
  const begun = performance.now();
  const record = await records.findOneAndUpdate(
    { _id: name },
    { $set: { version }, $setOnInsert: { started_at: new Date() } },
    { upsert: true },
  );

  async function convertEach<D extends { _id: string }>(
    collectionName: string,
    convert: (document: D) => readonly Write[],
    taken?: (document: D) => Promise<void>,
  ) {
    const collection = connection.collection<StoredDocument>(collectionName);
    let after = record?.converted_to?.[collectionName] ?? '';
    for (let isFull = true; isFull; ) {
      signal.throwIfAborted();
      const batch = await collection
        .find({ _id: { $gt: after } }, { sort: { _id: 1 }, limit: BATCH })
        .toArray();
      const writes = batch.flatMap((it) => convert(it as unknown as D).map((write) => ({ it, write })));
      const commands = writes.map(({ write }) => write);
      if (commands.length > 0) {
        await collection
          .bulkWrite(commands, { ordered: taken === undefined })
          .catch(async (error: unknown) => {
            if (taken === undefined) throw error;
            for (const i of duplicateKeyOperations(error)) await taken(writes[i]?.it as unknown as D);
          });
      }
      isFull = batch.length === BATCH;
      after = batch.at(-1)?._id ?? after;
      if (isFull) {
        await records.updateOne({ _id: name }, { $set: { [`converted_to.${collectionName}`]: after } });
      }
    }
  }

  try {
    await run({ connection, logger, convertEach });
    signal.throwIfAborted();
  } catch (error) {
    if (!signal.aborted) logger.error({ migration: name, err: error }, 'a migration failed');
    throw error;
  }
  const duration_ms = Math.round(performance.now() - begun);
  await records.updateOne({ _id: name }, { $set: { applied_at: new Date(), duration_ms } });
  logger.info({ migration: name, version, duration_ms }, 'a migration was applied');
}
