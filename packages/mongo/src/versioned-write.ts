import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, unavailable } from '@gatehouse/kit/errors';
import type { DocumentCollection } from './collection.ts';
import type { Counts } from './counts.ts';
import { duplicateKeyField } from './duplicate-key.ts';
import { type OutboxEvent, outboxEvent } from './outbox.ts';

/** The version and the time that an aggregate gets by a write. */
export type Revision = { version: number; updatedAt: Date };

/** What others are told of a write. */
export type DomainEvent = { subject: string; data: Record<string, unknown> };

/** What an aggregate becomes by a change, and the events of that. */
export type Change<T> = { next: T; events?: readonly DomainEvent[] };

/** What is left of a deleted document until its events are delivered: those, and the fields to keep. */
export type Deletion = { events?: readonly DomainEvent[]; keep?: Record<string, unknown> };

/** Which versions a write is for; any, when it is absent. */
export type IfVersion = readonly number[] | undefined;

/** What a document has beside the fields of its aggregate. One from before there were versions has none, which is 0. */
export type VersionedDocument = {
  _id: string;
  version?: number;
  updated_at: Date;
  deleted_at?: Date;
  outbox?: OutboxEvent[];
};

/**
 * Writes of which none undoes another. `decide` is a pure function of the aggregate as it is: it is called again when
 * another write came first, and may throw a ServiceError. Events are stored in the same write as their cause.
 *
 * `update` and `remove` throw `not_found`, `precondition_failed` when the document is in none of the versions given, and
 * `unavailable` when other processes are always faster.
 */
export type VersionedWrites<T> = {
  insert(aggregate: T, events?: readonly DomainEvent[]): Promise<void>;
  /** The change that was made; undefined when there was none to make. */
  update<C extends Change<T> | undefined>(
    id: string,
    decide: (current: T, revision: Revision) => C,
    ifVersion?: IfVersion,
  ): Promise<C>;
  /** With events, a tombstone stays until they are delivered. Without any nothing stays, nor do older events. */
  remove<R extends Deletion>(
    id: string,
    decide: (current: T, revision: Revision) => R,
    ifVersion?: IfVersion,
  ): Promise<R>;
};

/** How long a write may wait for others of its process, and then lose against those of other processes. */
const MAX_WAIT_MS = 5000;
const MAX_PAUSE_MS = 64;

/**
 * @param options.noun what messages call one of them, such as 'user'
 * @param options.read the aggregate of a document
 * @param options.write the fields of an aggregate as they are stored; what a VersionedDocument has is added
 * @param options.duplicate the error for the caller when another document has the same value of a unique field
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
  duplicate?: (field: string) => Error | undefined;
}): VersionedWrites<T> {
  const { collection, noun, read, write, counts, duplicate } = options;
  /** By document, the last write of this process that is under way: they need not race with each other. */
  const underWay = new Map<string, Promise<unknown>>();

  async function inTurn<R>(id: string, run: () => Promise<R>): Promise<R> {
    const before = underWay.get(id)?.catch(() => {});
    // Not for ever: when the database hangs they are not to fail one after the other.
    const isOurs = before && Promise.race([before, sleep(MAX_WAIT_MS, undefined, { ref: false })]);
    const turn = isOurs === undefined ? run() : isOurs.then(run);
    underWay.set(id, turn);
    try {
      return await turn;
    } finally {
      if (underWay.get(id) === turn) underWay.delete(id);
    }
  }

  function fieldsOf(aggregate: T) {
    return { ...write(aggregate), version: aggregate.version, updated_at: aggregate.updatedAt };
  }

  /** Decides and writes, again and again while a write of another process comes in between. */
  function revise<R>(
    id: string,
    ifVersion: IfVersion,
    decide: (current: T, revision: Revision) => R,
    attempt: (isUnchanged: Record<string, unknown>, decision: R, revision: Revision) => Promise<boolean>,
  ): Promise<R> {
    return inTurn(id, async () => {
      const begin = performance.now();
      for (let pause = 1; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
        const document = await collection.findOne<D>({ _id: id }, { projection: { outbox: 0 } });
        if (document === null || document.deleted_at !== undefined) {
          throw new ServiceError('not_found', `There is no such ${noun}.`);
        }
        const { version = 0, updated_at: updatedAt } = document;
        if (ifVersion !== undefined && !ifVersion.includes(version)) {
          throw new ServiceError('precondition_failed', `This ${noun} has been changed meanwhile.`);
        }
        // Later than before, also within one millisecond or when the clock goes back.
        const revision = {
          version: version + 1,
          updatedAt: new Date(Math.max(Date.now(), updatedAt.getTime() + 1)),
        };
        const decision = decide(read(document), revision);
        const isUnchanged = { _id: id, version: version === 0 ? { $in: [0, null] } : version };
        if (await attempt(isUnchanged, decision, revision).catch(asDuplicate)) return decision;
        if (performance.now() - begin > MAX_WAIT_MS) {
          throw unavailable(`Too many are changing this ${noun} just now.`);
        }
        // Of any length, so that those who met here do not meet again.
        await sleep(Math.random() * pause);
      }
    });
  }

  function asDuplicate(error: unknown): never {
    const field = duplicateKeyField(error);
    throw (field === undefined ? undefined : duplicate?.(field)) ?? error;
  }

  return {
    async insert(aggregate, events = []) {
      const document = { _id: aggregate.id, ...fieldsOf(aggregate), outbox: stored(events) };
      const insert = () => collection.insertOne(document).catch(asDuplicate);
      await counts.resize(insert, () => 1);
    },

    update: (id, decide, ifVersion) =>
      counts.change(() =>
        revise(id, ifVersion, decide, async (isUnchanged, change, revision) => {
          if (change === undefined) return true;
          const { next, events = [] } = change;
          const update: Record<string, unknown> = { $set: fieldsOf({ ...next, ...revision }) };
          if (events.length > 0) update.$push = { outbox: { $each: stored(events) } };
          return (await collection.updateOne(isUnchanged, update)).matchedCount === 1;
        }),
      ),

    remove: (id, decide, ifVersion) =>
      counts.resize(
        () =>
          revise(id, ifVersion, decide, async (isUnchanged, { events = [], keep = {} }, { version }) => {
            if (events.length === 0) return (await collection.deleteOne(isUnchanged)).deletedCount === 1;
            const tombstone = { ...keep, version, deleted_at: new Date() };
            // As a pipeline, since an event may be delivered, and be taken out, at this moment.
            const outbox = { $concatArrays: [{ $ifNull: ['$outbox', []] }, { $literal: stored(events) }] };
            const replacement = { $mergeObjects: [{ _id: '$_id', outbox }, { $literal: tombstone }] };
            const { matchedCount } = await collection.updateOne(isUnchanged, [{ $replaceWith: replacement }]);
            return matchedCount === 1;
          }),
        () => -1,
      ),
  };
}

function stored(events: readonly DomainEvent[]): OutboxEvent[] {
  return events.map(({ subject, data }) => outboxEvent(subject, data));
}
