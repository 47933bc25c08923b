import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { Connection } from 'mongoose';
import { type DocumentCollection, defineCollection, type StoredDocument } from './collection.ts';

type ErasureDocument = { _id: string; requested_at: Date; due_at: Date; again: boolean };

/**
 * Erases what the database holds about a person, or makes it anonymous. It may be broken off, and is then called again, with
 * the same person; it is also called for people about whom there is nothing.
 *
 * @param requestedAt what was made before shows the person as they were
 */
export type Erase = (userId: string, requestedAt: Date) => Promise<void>;

export type Erasures = {
  /** The person's data will be erased. Durable when it resolves, and repeatable. */
  request(userId: string): Promise<void>;
  start(): void;
  stop(): Promise<void>;
};

/**
 * When the erasure is repeated. By then every request that was accepted from the person has ended, even at a service that has missed
 * revocations for as long as it may.
 */
const AGAIN_MS = 15 * 60_000;
/** The longest pause between two searches for erasures of other replicas, or of processes that have ended. */
const SEARCH_MS = 60_000;
const RETRY_MS = 2000;
const BATCH = 500;

/**
 * Erases people's data once users has said that their accounts are deleted: at once, and once more after AGAIN_MS, for what
 * requests in flight have stored meanwhile. Each erasure is recorded until then, so that it continues after a crash.
 */
export function createErasures(
  connection: Connection,
  options: { erase: Erase; logger: Logger; againMs?: number },
): Erasures {
  const { erase, logger, againMs = AGAIN_MS } = options;
  const erasures = defineCollection<ErasureDocument>(connection, 'erasures', [
    { fields: { due_at: 1 }, options: { name: 'due_at' } },
  ]);
  /** Whether more erasures can be done at once, and whether one has failed. */
  let requested = false;
  let failed = false;

  const warn = (error: unknown) => {
    failed = true;
    logger.warn({ err: error }, 'the data of a deleted person was not erased; trying again');
  };

  async function eraseOne({ _id, requested_at, due_at, again }: ErasureDocument): Promise<void> {
    await erase(_id, requested_at);
    // Not one that has been requested again meanwhile.
    const done = { _id, due_at };
    if (again) await erasures.deleteOne(done);
    else {
      const next = { again: true, due_at: new Date(Date.now() + againMs) };
      await erasures.updateOne(done, { $set: next });
    }
  }

  const task = createPeriodicTask({
    immediately: true,
    async run(signal) {
      requested = false;
      failed = false;
      const due = await erasures.find({ due_at: { $lte: new Date() } }, { sort: { due_at: 1 } }).toArray();
      for (const erasure of due) {
        if (signal.aborted) return;
        await eraseOne(erasure).catch(warn);
      }
    },
    everyMs() {
      if (failed) return RETRY_MS;
      return requested ? 0 : Math.min(SEARCH_MS, againMs);
    },
    onError: warn,
  });

  return {
    async request(userId) {
      const now = new Date();
      await erasures.updateOne(
        { _id: userId },
        { $set: { requested_at: now, due_at: now, again: false } },
        { upsert: true },
      );
      requested = true;
      task.wake();
    },
    start: task.start,
    stop: task.stop,
  };
}

/** Runs a write on the matching documents, some at a time, until none is left. The write must make them match no longer. */
export async function inBatches(
  collection: DocumentCollection,
  filter: Record<string, unknown>,
  write: (ids: string[]) => Promise<unknown>,
): Promise<void> {
  for (let isFull = true; isFull; ) {
    const found = await collection
      .find<StoredDocument>(filter, { projection: { _id: 1 }, limit: BATCH })
      .toArray();
    if (found.length > 0) await write(found.map(({ _id }) => _id));
    isFull = found.length === BATCH;
  }
}
