import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/kit/logger';
import type { Database } from '@gatehouse/mongo/database';
import type { OutboxEvent } from '@gatehouse/mongo/outbox';

/** A collection whose documents hold an array `outbox` of {id, subject, at, data}, and that has the OUTBOX_INDEX. */
export type OutboxCollection = ReturnType<Database['connection']['collection']>;

export type OutboxLaneOptions = {
  collection: OutboxCollection;
  deliver: (event: OutboxEvent) => Promise<void>;
  deliverSeconds: number;
  tombstone: Record<string, unknown> | undefined;
  logger: Logger;
  /** Whether an event goes by this lane. */
  takes: (event: OutboxEvent) => boolean;
  /** Of the documents that may have something for this lane. */
  waiting: () => AsyncIterable<{ _id: unknown; outbox: OutboxEvent[] }>;
  stopping: AbortSignal;
};

/** The deliveries of one lane; nothing of it is shared with another lane. */
export type OutboxLane = {
  /** Resolves with whether all events of the document are delivered, or undefined while too many are at work. */
  push(id: unknown): Promise<boolean> | undefined;
  /** Begins to deliver what waits, unless it is doing so. */
  sweep(): void;
  /** Resolves when nothing is at work any more, after `stopping`. */
  ended(): Promise<void>;
};

/** How many documents a sweep works on at the same time. */
const PARALLEL = 8;
/** How many may be at work with those that are pushed: when the receiver hangs, the sweep has to do. */
const MOST_AT_WORK = 256;
/** In milliseconds, while nothing can be delivered. */
const BACKOFF = { first: 100, most: 5000 };
/** In milliseconds: the least time between two lines about failures. */
const SILENCE = 10_000;

/** One lane of an outbox relay. */
export function createOutboxLane(options: OutboxLaneOptions): OutboxLane {
  const { collection, deliverSeconds, tombstone, takes, stopping } = options;
  /** By document: two deliveries at once would mix up the order. The next one sees what was written since. */
  const working = new Map<unknown, { delivery: Promise<boolean>; next?: Promise<boolean> }>();
  const logFailure = createFailureLog(options.logger, stopping);
  let sweeping: Promise<void> | undefined;
  let delivered = 0;
  /** Rounds in a row without any delivery. */
  let failedRounds = 0;

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
        event = (document?.outbox as OutboxEvent[] | undefined)?.find(takes);
        if (event === undefined) return true;
        if (stopping.aborted) return false;
        await deliverInTime(event);
        delivered += 1;
        document = await takeOut(_id, event);
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

  /**
   * Returns the document as it is then; null when there is none any more. Of a tombstone the last event is never
   * taken out alone, so that no crash and no other lane that ends at this moment can leave an empty one.
   */
  async function takeOut(_id: never, { id }: OutboxEvent) {
    const last = { outbox: { $size: 1 }, 'outbox.id': id };
    const filter = tombstone === undefined ? { _id } : { _id, $nor: [{ $and: [tombstone, last] }] };
    const pull = { $pull: { outbox: { id } } } as Record<string, unknown>;
    for (;;) {
      const document = await collection.findOneAndUpdate(filter, pull, {
        projection: { outbox: 1 },
        returnDocument: 'after',
      });
      if (document !== null || tombstone === undefined) return document;
      const { deletedCount } = await collection.deleteOne({ $and: [{ _id }, tombstone, last] });
      if (deletedCount === 1) return null;
      // Gone already, or an event was written behind what was the last one.
      if ((await collection.findOne({ _id }, { projection: { _id: 1 } })) === null) return null;
    }
  }

  async function sweep(): Promise<void> {
    let round: unknown[] = [];
    for await (const { _id, outbox } of options.waiting()) {
      if (stopping.aborted) return;
      if (working.has(_id) || !outbox.some(takes)) continue;
      round.push(_id);
      if (round.length < PARALLEL) continue;
      await deliverRound(round);
      round = [];
    }
    await deliverRound(round);
  }

  /**
   * When none of them can be delivered, the receiver is probably away: waits, longer each time, before the sweep
   * goes on. It does go on, so that bad events, however many, do not keep the others waiting for ever.
   */
  async function deliverRound(ids: unknown[]): Promise<void> {
    if (ids.length === 0 || stopping.aborted) return;
    const before = delivered;
    const results = await Promise.all(ids.map(deliverDocument));
    failedRounds = delivered > before || results.includes(true) ? 0 : failedRounds + 1;
    if (failedRounds === 0) return;
    const delay = Math.min(BACKOFF.first * 2 ** (failedRounds - 1), BACKOFF.most);
    await sleep(delay * (0.5 + Math.random() / 2), undefined, { signal: stopping }).catch(() => {});
  }

  return {
    push: (id) => (working.size >= MOST_AT_WORK ? undefined : deliverDocument(id)),
    sweep() {
      sweeping ??= sweep()
        .catch((error: unknown) => logFailure(error, {}))
        .finally(() => {
          sweeping = undefined;
        });
    },
    async ended() {
      await sweeping;
      await Promise.all([...working.values()].map(({ delivery, next }) => next ?? delivery));
    },
  };
}

/** Logs failures, one line in ten seconds at most, and none of those that stopping brings about. */
export function createFailureLog(logger: Logger, stopping: AbortSignal) {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (error: unknown, about: Record<string, unknown>): void => {
    if (stopping.aborted || performance.now() - loggedAt < SILENCE) return;
    loggedAt = performance.now();
    logger.warn({ err: error, ...about }, 'an event could not be delivered; trying again');
  };
}
