import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { createBatches } from '@gatehouse/data/batches';
import type { Database } from '@gatehouse/data/database';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { createFailureLog } from './failure-log.ts';

/** A collection with the OUTBOX_INDEX, whose documents hold an array `outbox` of {id, subject, at, data}. */
export type OutboxCollection = ReturnType<Database['connection']['collection']>;

export type OutboxLaneOptions = {
  collection: OutboxCollection;
  deliver: (event: OutboxEvent) => Promise<void>;
  deliverSeconds: number;
  tombstone: Record<string, unknown> | undefined;
  logger: Logger;
  /** Whether an event belongs to this lane. */
  takes: (event: OutboxEvent) => boolean;
  /** The documents that may have events for this lane. */
  waiting: () => AsyncIterable<{ _id: unknown; outbox: OutboxEvent[] }>;
  stopping: AbortSignal;
};

/** The deliveries of one lane; lanes share nothing. */
export type OutboxLane = {
  /** Resolves to whether all events of the document are delivered; undefined while too many are in flight. */
  push(id: unknown): Promise<boolean> | undefined;
  /** Starts to deliver the waiting events, unless a sweep is under way. */
  sweep(): void;
  /** Resolves when no delivery is in flight, after `stopping`. */
  ended(): Promise<void>;
};

/** Documents that a sweep delivers at the same time. */
const SWEEP_CONCURRENCY = 8;
/** Documents in flight above which push() refuses: when the receiver hangs, the sweeps must do. */
const MAX_IN_FLIGHT = 256;
/** The pause of a sweep while nothing can be delivered. */
const BACKOFF_MS = { first: 100, max: 5000 };
/** The log message for events that wait. */
export const UNDELIVERED = 'an event could not be delivered; trying again';
/** Documents that are read or written with one command. */
const MAX_BATCH = 100;

/** One lane of an outbox relay. */
export function createOutboxLane(options: OutboxLaneOptions): OutboxLane {
  const { collection, deliverSeconds, tombstone, takes, stopping } = options;
  /** By document: two deliveries at once would mix up the order. The next one sees everything written until then. */
  const inFlight = new Map<unknown, { delivery: Promise<boolean>; next?: Promise<boolean> }>();
  const logFailure = createFailureLog(options.logger, UNDELIVERED, stopping);
  const tombstones = tombstone === undefined ? [] : [tombstone];
  let sweeping: Promise<void> | undefined;
  let delivered = 0;
  /** Consecutive batches without any delivery. */
  let failedBatches = 0;

  /** The outboxes of documents that are delivered at the same time are read together. */
  const readOutbox = createBatches<unknown, OutboxEvent[]>({
    max: MAX_BATCH,
    async run(ids) {
      const found = await collection.find(among(ids), { projection: { outbox: 1 } }).toArray();
      const outboxes = new Map(found.map(({ _id, outbox }) => [_id as unknown, outbox as OutboxEvent[]]));
      return ids.map((id) => outboxes.get(id) ?? []);
    },
  });

  /** Events that are delivered are removed together. */
  const removeEvents = createBatches<{ id: unknown; events: string[] }, void>({
    max: MAX_BATCH,
    async run(removed) {
      const all = among(removed.map(({ id }) => id));
      const pull = withoutEvents(removed.flatMap(({ events }) => events));
      const filter = tombstones.length === 0 ? all : { ...all, $nor: tombstones };
      const { matchedCount } = await collection.updateMany(filter, pull);
      if (tombstones.length > 0 && matchedCount < removed.length) {
        const found = await collection
          .find({ $and: [all, ...tombstones] }, { projection: { _id: 1 } })
          .toArray();
        const ids = new Set(found.map(({ _id }) => _id as unknown));
        const ofTombstones = removed.filter(({ id }) => ids.has(id));
        await Promise.all(
          ofTombstones.map(async ({ id, events }) => {
            for (const event of events) await removeFromTombstone(id, event);
          }),
        );
      }
      return removed.map(() => undefined);
    },
  });

  /** Resolves to whether all events of the document are delivered. Never rejects. */
  function deliverDocument(id: unknown): Promise<boolean> {
    const before = inFlight.get(id);
    if (before !== undefined) {
      before.next ??= before.delivery.then(() => deliverDocument(id));
      return before.next;
    }
    const delivery = deliverEvents(id).finally(() => inFlight.delete(id));
    inFlight.set(id, { delivery });
    return delivery;
  }

  /** Delivers the events that wait now. Later ones are delivered by the process that writes them, or by a sweep. */
  async function deliverEvents(id: unknown): Promise<boolean> {
    let event: OutboxEvent | undefined;
    const events: string[] = [];
    try {
      try {
        for (event of (await readOutbox(id)).filter(takes)) {
          if (stopping.aborted) return false;
          await deliverInTime(event);
          delivered += 1;
          events.push(event.id);
        }
      } finally {
        if (events.length > 0) await removeEvents({ id, events });
      }
      return true;
    } catch (error) {
      logFailure(error, { document: id, event: event?.id, subject: event?.subject });
      return false;
    }
  }

  async function deliverInTime(event: OutboxEvent): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error(`The delivery took longer than ${deliverSeconds} s.`)),
      deliverSeconds * 1000,
    );
    try {
      await Promise.race([options.deliver(event), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * A tombstone is deleted together with its last event, so that neither a crash nor another lane that ends at this moment
   * can leave an empty one.
   */
  async function removeFromTombstone(id: unknown, event: string): Promise<void> {
    const _id = id as never;
    const last = { $and: [{ _id }, ...tombstones, { outbox: { $size: 1 }, 'outbox.id': event }] };
    const others = { _id, $nor: [last] };
    // Until another event is neither added after the last one nor removed before it.
    for (;;) {
      const { matchedCount } = await collection.updateOne(others, withoutEvents([event]));
      if (matchedCount === 1) return;
      const { deletedCount } = await collection.deleteOne(last);
      if (deletedCount === 1) return;
      if ((await collection.findOne({ _id }, { projection: { _id: 1 } })) === null) return;
    }
  }

  async function sweep(): Promise<void> {
    let batch: unknown[] = [];
    for await (const { _id, outbox } of options.waiting()) {
      if (stopping.aborted) return;
      if (inFlight.has(_id) || !outbox.some(takes)) continue;
      batch.push(_id);
      if (batch.length < SWEEP_CONCURRENCY) continue;
      await deliverBatch(batch);
      batch = [];
    }
    await deliverBatch(batch);
  }

  /**
   * When none of the documents can be delivered, the receiver is probably away: waits, longer each time, before the
   * sweep continues. It does continue, so that bad events, however many, do not keep the others waiting for ever.
   */
  async function deliverBatch(ids: unknown[]): Promise<void> {
    if (ids.length === 0 || stopping.aborted) return;
    const before = delivered;
    const results = await Promise.all(ids.map(deliverDocument));
    failedBatches = delivered > before || results.includes(true) ? 0 : failedBatches + 1;
    if (failedBatches === 0) return;
    const delay = Math.min(BACKOFF_MS.first * 2 ** (failedBatches - 1), BACKOFF_MS.max);
    await sleep(delay * (0.5 + Math.random() / 2), undefined, { signal: stopping }).catch(() => {});
  }

  return {
    push: (id) => (inFlight.size >= MAX_IN_FLIGHT ? undefined : deliverDocument(id)),
    sweep() {
      sweeping ??= sweep()
        .catch((error: unknown) => logFailure(error, {}))
        .finally(() => {
          sweeping = undefined;
        });
    },
    async ended() {
      await sweeping;
      await Promise.all([...inFlight.values()].map(({ delivery, next }) => next ?? delivery));
    },
  };
}

const among = (ids: readonly unknown[]) => ({ _id: { $in: ids as never[] } });
const withoutEvents = (events: readonly string[]) =>
  ({ $pull: { outbox: { id: { $in: events } } } }) as Record<string, unknown>;
