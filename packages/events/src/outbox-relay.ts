import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/logger';
import type { Database } from '@gatehouse/mongo/database';

/** An event waiting in the document that caused it. */
export type OutboxEvent = { id: string; subject: string; at: Date; data: Record<string, unknown> };

/** A collection whose documents hold an array `outbox` of {id, subject, at, data}, and that has the OUTBOX_INDEX. */
export type OutboxCollection = ReturnType<Database['connection']['collection']>;

/**
 * The index by which documents with undelivered events are found: `schema.index(OUTBOX_INDEX.fields,
 * OUTBOX_INDEX.options)`. No other document is in it.
 */
export const OUTBOX_INDEX = {
  fields: { 'outbox.at': 1 },
  options: { name: 'outbox', partialFilterExpression: { 'outbox.at': { $gt: new Date(0) } } },
} as const;

export type OutboxRelayOptions = {
  collection: OutboxCollection;
  /** Resolves when the event is durably taken; rejects to be tried again. It must bear the same event twice. */
  deliver: (event: OutboxEvent) => Promise<void>;
  logger: Logger;
  /** How often documents with undelivered events are looked for. */
  sweepSeconds?: number;
  /** How long one delivery may take before it counts as failed. */
  deliverSeconds?: number;
  /**
   * Which documents live for the sake of their events only, such as `{ deleted_at: { $gt: new Date(0) } }`: one that
   * matches is removed instead of its last event, in one step.
   */
  tombstone?: Record<string, unknown>;
};

export type OutboxRelay = {
  /** Begins to deliver what waits, now and every `sweepSeconds`. */
  start(): void;
  /** Lets the deliveries under way end, and begins no other. */
  stop(): Promise<void>;
  /**
   * Delivers the events of this document now. Resolves with true when all are delivered, with false when that
   * failed or takes longer than `waitMs` (it then goes on, and a sweep does the rest). Never rejects.
   */
  push(documentId: string, waitMs?: number): Promise<boolean>;
};

/** How many documents a sweep works on at the same time. */
const PARALLEL = 8;
/** How many may be at work with those that are pushed: when the receiver hangs, the sweep has to do. */
const MOST_AT_WORK = 256;
const BATCH = 100;
/** In milliseconds, while nothing can be delivered. */
const BACKOFF = { first: 100, most: 5000 };
/** In milliseconds: the least time between two lines about failures. */
const SILENCE = 10_000;

/** A new event, to be written into the `outbox` of the document that causes it, in the same write. */
export function outboxEvent(subject: string, data: Record<string, unknown>): OutboxEvent {
  return { id: newId('evt'), subject, at: new Date(), data };
}

/**
 * Delivers the events that wait in documents, at least once: an event is taken out of its document only after
 * deliver() has resolved. The events of a document are delivered in their order, and one that fails holds up the
 * later ones of its document alone. Several replicas may run a relay over the same collection: an event may then
 * come twice, but none for the first time before an earlier one of its document.
 */
export function createOutboxRelay(options: OutboxRelayOptions): OutboxRelay {
  const { collection, logger, sweepSeconds = 2, deliverSeconds = 10, tombstone } = options;
  const stopping = new AbortController();
  /** By document: two deliveries at once would mix up the order. The next one sees what was written since. */
  const working = new Map<unknown, { delivery: Promise<boolean>; next?: Promise<boolean> }>();
  let sweeping: Promise<void> | undefined;
  let delivered = 0;
  /** Rounds in a row without any delivery. */
  let failedRounds = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;

  /** Resolves with whether all events of the document are delivered. Never rejects. */
  function deliverDocument(id: unknown): Promise<boolean> {
    const before = working.get(id);
    if (before !== undefined) {
      before.next ??= before.delivery.then(() => deliverDocument(id));
      return before.next;
    }
    const delivery = deliverEvents(id).finally(() => working.delete(id));
    working.set(id, { delivery });
    return delivery;
  }

  async function deliverEvents(id: unknown): Promise<boolean> {
    const _id = id as never;
    let event: OutboxEvent | undefined;
    try {
      let document = await collection.findOne({ _id }, { projection: { outbox: 1 } });
      for (;;) {
        event = (document?.outbox as OutboxEvent[] | undefined)?.[0];
        if (event === undefined) return true;
        if (stopping.signal.aborted) return false;
        await deliverInTime(event);
        delivered += 1;
        document = (await removeTombstone(_id, event)) ? null : await takeOut(_id, event);
      }
    } catch (error) {
      logFailure(error, { document: id, event: event?.id, subject: event?.subject });
      return false;
    }
  }

  async function deliverInTime(event: OutboxEvent): Promise<void> {
    const timer = new AbortController();
    const late = sleep(deliverSeconds * 1000, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`The delivery took longer than ${deliverSeconds} s.`);
    });
    late.catch(() => {});
    try {
      await Promise.race([options.deliver(event), late]);
    } finally {
      timer.abort();
    }
  }

  /** Returns the document as it is then. */
  function takeOut(_id: never, { id }: OutboxEvent) {
    const pull = { $pull: { outbox: { id } } } as Record<string, unknown>;
    return collection.findOneAndUpdate({ _id }, pull, { projection: { outbox: 1 }, returnDocument: 'after' });
  }

  /** Removes the document if it is a tombstone and this its last event. */
  async function removeTombstone(_id: never, { id }: OutboxEvent): Promise<boolean> {
    if (tombstone === undefined) return false;
    const last = { outbox: { $size: 1 }, 'outbox.id': id };
    const { deletedCount } = await collection.deleteOne({ $and: [{ _id }, tombstone, last] });
    return deletedCount === 1;
  }

  async function sweep(): Promise<void> {
    const waiting = collection.find(OUTBOX_INDEX.options.partialFilterExpression, {
      projection: { _id: 1 },
      hint: OUTBOX_INDEX.options.name,
      batchSize: BATCH,
    });
    try {
      let round: unknown[] = [];
      for await (const { _id } of waiting) {
        if (stopping.signal.aborted) return;
        if (!working.has(_id)) round.push(_id);
        if (round.length < PARALLEL) continue;
        await deliverRound(round);
        round = [];
      }
      await deliverRound(round);
    } finally {
      await waiting.close();
    }
  }

  /**
   * When none of them can be delivered, the receiver is probably away: waits, longer each time, before the sweep
   * goes on. It does go on, so that bad events, however many, do not keep the others waiting for ever.
   */
  async function deliverRound(ids: unknown[]): Promise<void> {
    if (ids.length === 0) return;
    const before = delivered;
    const results = await Promise.all(ids.map(deliverDocument));
    failedRounds = delivered > before || results.includes(true) ? 0 : failedRounds + 1;
    if (failedRounds === 0) return;
    const delay = Math.min(BACKOFF.first * 2 ** (failedRounds - 1), BACKOFF.most);
    await pause(delay * (0.5 + Math.random() / 2));
  }

  function logFailure(error: unknown, about: Record<string, unknown>): void {
    if (stopping.signal.aborted || performance.now() - loggedAt < SILENCE) return;
    loggedAt = performance.now();
    logger.warn({ err: error, ...about }, 'an event could not be delivered; trying again');
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sweep().catch((error: unknown) => logFailure(error, {}));
      await pause(sweepSeconds * 1000);
    }
  }

  function pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: stopping.signal }).catch(() => {});
  }

  return {
    start() {
      sweeping ??= run();
    },
    async stop() {
      stopping.abort();
      await sweeping;
      await Promise.all([...working.values()].map(({ delivery, next }) => next ?? delivery));
    },
    async push(documentId, waitMs = 1000) {
      if (stopping.signal.aborted || working.size >= MOST_AT_WORK) return false;
      const timer = new AbortController();
      const late = sleep(waitMs, false, { signal: timer.signal }).catch(() => false);
      try {
        return await Promise.race([deliverDocument(documentId), late]);
      } finally {
        timer.abort();
      }
    },
  };
}
