import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { allowsVersion, type IfVersion } from '@gatehouse/domain/if-version';
import { createBatches } from './batches.ts';
import type { DocumentCollection, StoredDocument } from './collection.ts';
import type { Counts } from './counts.ts';
import { duplicateKeyField, duplicateKeyValue } from './duplicate-key.ts';
import { insertNew } from './insert-new.ts';
import { laterThan } from './later-than.ts';
import { type OutboxEvent, outboxEvent, type StoredEvents } from './outbox.ts';

/** The version and time of a write. */
export type Revision = { version: number; updatedAt: Date };

/** An event of a write; it gets an id unless it has one. */
type DomainEvent = { subject: string; data: Record<string, unknown>; id?: string };

/** A check of other documents: awaited between its read and its write, which does not happen if it throws. */
type Condition = { onlyIf?: (() => Promise<void>) | undefined };

/**
 * The aggregate after a change, and the events of the change. Fields that others change without raising the version are
 * left as they are (`unwritten`), or must be as they were read (`unchanged`, a filter), if the change is about them.
 */
export type Change<T> = Condition & {
  next: T;
  events?: readonly DomainEvent[];
  unwritten?: readonly string[];
  unchanged?: Readonly<Record<string, unknown>>;
};

/** The events of a deletion, and the fields that are kept until those are delivered. */
type Deletion = Condition & { events?: readonly DomainEvent[]; keep?: Record<string, unknown> };

/** The fields of every versioned document. A missing version is 0. */
export type VersionedDocument = {
  _id: string;
  version?: number;
  updated_at: Date;
  deleted_at?: Date;
  outbox?: OutboxEvent[];
};

/**
 * Writes with optimistic concurrency control: none overwrites another. `decide` is a pure function of the current aggregate;
 * it is called again after a conflict, and may throw a ServiceError. Events are stored in the write that causes them.
 *
 * `update` and `remove` throw `not_found`, `precondition_failed` when the document is at none of the versions given, and
 * `unavailable` after too many conflicts.
 */
type VersionedWrites<T> = {
  /** Resolves to the events as stored. */
  insert(aggregate: T, events?: readonly DomainEvent[]): Promise<StoredEvents>;
  /** Inserts those whose unique fields are free, with one command, and returns for each whether it was inserted. */
  insertFree(entries: readonly { aggregate: T; events: readonly DomainEvent[] }[]): Promise<boolean[]>;
  /** Returns the decision: the change that was made, or undefined for none. */
  update<C extends Change<T> | undefined>(
    id: string,
    decide: (current: T, revision: Revision) => C,
    ifVersion?: IfVersion,
  ): Promise<C>;
  /** With events, a tombstone is kept until they are delivered. Without, earlier undelivered events are lost, too. */
  remove<R extends Deletion>(
    id: string,
    decide: (current: T, revision: Revision) => R,
    ifVersion?: IfVersion,
  ): Promise<R>;
};

/** How long a write waits for another of its process, and how long it is retried after conflicts. */
const MAX_WAIT_MS = 5000;
const MAX_PAUSE_MS = 64;
/** Documents that are inserted with one command. */
const BATCH_SIZE = 100;

/**
 * @param options.noun the noun for messages, such as 'user'
 * @param options.read converts a document to an aggregate
 * @param options.write converts an aggregate to stored fields, without those of a VersionedDocument
 * @param options.duplicate the error for a duplicate value of a unique field
 */
export function createVersionedWrites<
  T extends Revision & { id: string },
  D extends VersionedDocument,
>(options: {
  collection: DocumentCollection;
  noun: string;
  read: (document: D) => T;
  write: (aggregate: T) => Omit<D, keyof VersionedDocument>;
  counts: Counts;
  duplicate?: (field: string, value: unknown) => Error | undefined;
}): VersionedWrites<T> {
  const { collection, noun, read, write, counts, duplicate } = options;
  const serialized = createWriteQueue();
  const insertTogether = createBatches<StoredDocument, boolean>({
    max: BATCH_SIZE,
    run: (documents) => insertNew(collection, documents),
  });

  function fieldsOf(aggregate: T) {
    return { ...write(aggregate), version: aggregate.version, updated_at: aggregate.updatedAt };
  }

  /** Reads, decides and writes; starts over after a conflict with another process. */
  function revise<R>(
    id: string,
    ifVersion: IfVersion,
    decide: (current: T, revision: Revision) => R,
    attempt: (unchangedFilter: Record<string, unknown>, decision: R, revision: Revision) => Promise<boolean>,
  ): Promise<R> {
    return serialized(id, async () => {
      const begin = performance.now();
      for (let pause = 1; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
        const document = await collection.findOne<D>({ _id: id }, { projection: { outbox: 0 } });
        if (document === null || document.deleted_at !== undefined) {
          throw new ServiceError('not_found', `There is no such ${noun}.`);
        }
        const { version = 0, updated_at: updatedAt } = document;
        if (!allowsVersion(ifVersion, version)) {
          throw new ServiceError('precondition_failed', `This ${noun} has been changed meanwhile.`);
        }
        const revision = revisionAfter({ version, updatedAt });
        const decision = decide(read(document), revision);
        const unchangedFilter = { _id: id, version: version === 0 ? { $in: [0, null] } : version };
        if (await attempt(unchangedFilter, decision, revision).catch(rethrowDuplicate)) return decision;
        if (performance.now() - begin > MAX_WAIT_MS) {
          throw unavailable(`Too many requests are changing this ${noun}.`);
        }
        // Random, so that the same writers do not conflict again.
        await sleep(Math.random() * pause);
      }
    });
  }

  function rethrowDuplicate(error: unknown): never {
    const field = duplicateKeyField(error);
    throw (field === undefined ? undefined : duplicate?.(field, duplicateKeyValue(error))) ?? error;
  }

  function newDocument(aggregate: T, events: readonly DomainEvent[]) {
    return { _id: aggregate.id, ...fieldsOf(aggregate), outbox: outboxEvents(events) };
  }

  return {
    async insert(aggregate, events = []) {
      const document = newDocument(aggregate, events);
      const insert = async () => {
        if (await insertTogether(document)) return;
        // Alone, the error names the field that is not free.
        await collection.insertOne(document).catch(rethrowDuplicate);
      };
      await counts.resize(insert, () => 1);
      return { outbox: document.outbox };
    },

    insertFree(entries) {
      const documents = entries.map(({ aggregate, events }) => newDocument(aggregate, events));
      const insert = () => insertNew(collection, documents);
      return counts.resize(insert, (inserted) => inserted.filter(Boolean).length);
    },

    update: (id, decide, ifVersion) =>
      counts.change(() =>
        revise(id, ifVersion, decide, async (unchangedFilter, change, revision) => {
          if (change === undefined) return true;
          const { next, events = [], unwritten = [], unchanged = {}, onlyIf } = change;
          await onlyIf?.();
          const fields: Record<string, unknown> = fieldsOf({ ...next, ...revision });
          for (const name of unwritten) delete fields[name];
          const update: Record<string, unknown> = { $set: fields };
          if (events.length > 0) update.$push = { outbox: { $each: outboxEvents(events) } };
          return (
            (await collection.updateOne({ ...unchangedFilter, ...unchanged }, update)).matchedCount === 1
          );
        }),
      ),

    remove: (id, decide, ifVersion) =>
      counts.resize(
        () =>
          revise(id, ifVersion, decide, async (unchangedFilter, deletion, { version }) => {
            const { events = [], keep = {}, onlyIf } = deletion;
            await onlyIf?.();
            if (events.length === 0) return (await collection.deleteOne(unchangedFilter)).deletedCount === 1;
            const tombstone = toTombstone({ ...keep, version, deleted_at: new Date() }, events);
            return (await collection.updateOne(unchangedFilter, [tombstone])).matchedCount === 1;
          }),
        () => -1,
      ),
  };
}

/** Queues the writes of this process to one document, so that they do not conflict. */
function createWriteQueue() {
  /** The last pending write by document id. */
  const last = new Map<string, Promise<unknown>>();
  return async <R>(id: string, run: () => Promise<R>): Promise<R> => {
    const before = last.get(id)?.catch(() => {});
    // With a time limit: when the database hangs, queued writes must not time out one after the other.
    const ready = before && Promise.race([before, sleep(MAX_WAIT_MS, undefined, { ref: false })]);
    const current = ready === undefined ? run() : ready.then(run);
    last.set(id, current);
    try {
      return await current;
    } finally {
      if (last.get(id) === current) last.delete(id);
    }
  };
}

function revisionAfter(revision: Revision): Revision {
  return { version: revision.version + 1, updatedAt: laterThan(revision) };
}

/** The stage that leaves a tombstone: of a pipeline, since an event may be delivered and removed from the outbox at the same time. */
function toTombstone(fields: Record<string, unknown>, events: readonly DomainEvent[]) {
  const outbox = { $concatArrays: [{ $ifNull: ['$outbox', []] }, { $literal: outboxEvents(events) }] };
  return { $replaceWith: { $mergeObjects: [{ _id: '$_id', outbox }, { $literal: fields }] } };
}

function outboxEvents(events: readonly DomainEvent[]): OutboxEvent[] {
  return events.map(({ subject, data, id }) => outboxEvent(subject, data, id));
}
