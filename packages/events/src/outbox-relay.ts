import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { OUTBOX_INDEX, type OutboxEvent } from '@gatehouse/data/outbox';
import { createFailureLog } from './failure-log.ts';
import { createOutboxLane, type OutboxCollection, type OutboxLane, UNDELIVERED } from './outbox-lane.ts';

export type OutboxRelayOptions = {
  collection: OutboxCollection;
  /** Resolves when the event is durably stored; rejects to be called again. May get the same event twice. */
  deliver: (event: OutboxEvent) => Promise<void>;
  logger: Logger;
  /** The lane of an event, which must not change; without it, all events share one. */
  lane?: (event: OutboxEvent) => string;
  /** The interval between searches for documents with events that others were to deliver, such as killed processes. */
  sweepSeconds?: number;
  /** The time after which a delivery counts as failed. */
  deliverSeconds?: number;
  /**
   * Matches documents that are kept only for their events, such as `{ deleted_at: { $gt: new Date(0) } }`: they are
   * deleted together with their last event.
   */
  tombstone?: Record<string, unknown>;
};

export type OutboxRelay = {
  /** Delivers the waiting events, now and every `sweepSeconds`. */
  start(): void;
  /** Starts no more deliveries, and resolves when those under way have ended. */
  stop(): Promise<void>;
  /** A write has failed, and was perhaps made all the same: its events are searched for soon. */
  suspect(): void;
  /**
   * Delivers the events of this document now, those of one lane or all. Resolves to true when they are delivered, and
   * to false when that fails or takes longer than `waitMs` (the delivery continues, and a sweep does the rest). Never
   * rejects.
   */
  push(documentId: string, waitMs?: number, lane?: string): Promise<boolean>;
  /** As push(), for callers that do not wait: it spares the time limit. */
  send(documentId: string, lane?: string): void;
};

const BATCH_SIZE = 100;
/** The greatest share of the time that is spent on searching. */
const MAX_SEARCH_SHARE = 0.1;
/** The pause between two searches while events wait that this process knows of. */
const RETRY_SECONDS = 2;
/** The longest pause between two searches, for one that was held up and succeeded after all. */
const MAX_PAUSE_MS = 30_000;

/**
 * Delivers the events that wait in documents, at least once: an event is removed from its document only after deliver()
 * has resolved. The events of one document and lane are delivered in their order, and one that fails holds up only the
 * later ones of its document and lane; lanes do not wait for each other. Several replicas may run a relay over the same
 * collection: an event may then be delivered twice, but never for the first time before an earlier one of its document
 * and lane.
 */
export function createOutboxRelay(options: OutboxRelayOptions): OutboxRelay {
  const { collection, deliver, logger, sweepSeconds = 30, deliverSeconds = 10, tombstone } = options;
  const laneOf = options.lane ?? (() => '');
  const stopping = new AbortController();
  const { signal } = stopping;
  const logFailure = createFailureLog(logger, UNDELIVERED, signal);
  const lanes = new Map<string, OutboxLane>();
  /** Whether events may be waiting that this process knows of. */
  let isUnsettled = true;
  let searchAt = 0;
  const searching = createPeriodicTask({
    async run() {
      if (isUnsettled || performance.now() >= searchAt) await search();
    },
    everyMs: (lastRunMs) =>
      Math.max(
        Math.min(sweepSeconds, RETRY_SECONDS) * 1000,
        Math.min(lastRunMs / MAX_SEARCH_SHARE, MAX_PAUSE_MS),
      ),
    immediately: true,
    onError(error) {
      isUnsettled = true;
      logFailure(error, {});
    },
  });

  function laneNamed(name: string): OutboxLane {
    const known = lanes.get(name);
    if (known !== undefined) return known;
    const lane = createOutboxLane({
      collection,
      deliver,
      deliverSeconds,
      tombstone,
      logger,
      takes: (event) => laneOf(event) === name,
      waiting,
      stopping: signal,
    });
    lanes.set(name, lane);
    return lane;
  }

  async function* waiting(): AsyncGenerator<{ _id: unknown; outbox: OutboxEvent[] }> {
    const cursor = collection.find(OUTBOX_INDEX.options.partialFilterExpression, {
      projection: { outbox: 1 },
      hint: OUTBOX_INDEX.options.name,
      batchSize: BATCH_SIZE,
    });
    try {
      for await (const { _id, outbox } of cursor) yield { _id, outbox: outbox as OutboxEvent[] };
    } finally {
      await cursor.close();
    }
  }

  /** Starts a sweep of every lane that has waiting events. */
  async function search(): Promise<void> {
    isUnsettled = false;
    searchAt = performance.now() + sweepSeconds * 1000;
    for await (const { outbox } of waiting()) {
      isUnsettled = true;
      if (signal.aborted) return;
      for (const event of outbox) laneNamed(laneOf(event)).sweep();
      // With a single lane, there is no other to search for.
      if (options.lane === undefined) return;
    }
  }

  /** Starts the deliveries of one lane or all; undefined if that has to be left to a sweep. */
  function begin(id: string, lane: string | undefined): Promise<boolean> | undefined {
    if (signal.aborted) return undefined;
    const name = options.lane === undefined ? '' : lane;
    const pushed = name === undefined ? pushAll(id) : laneNamed(name).push(id);
    if (pushed === undefined) isUnsettled = true;
    return pushed?.then((isDelivered) => {
      if (!isDelivered) isUnsettled = true;
      return isDelivered;
    });
  }

  async function pushAll(id: string): Promise<boolean> {
    let document: Record<string, unknown> | null;
    try {
      document = await collection.findOne({ _id: id as never }, { projection: { outbox: 1 } });
    } catch (error) {
      logFailure(error, { document: id });
      return false;
    }
    const names = new Set(((document?.outbox ?? []) as OutboxEvent[]).map(laneOf));
    const results = await Promise.all([...names].map((name) => laneNamed(name).push(id) ?? false));
    return results.every(Boolean);
  }

  return {
    start: searching.start,
    async stop() {
      stopping.abort();
      await searching.stop();
      await Promise.all([...lanes.values()].map((lane) => lane.ended()));
    },
    suspect() {
      isUnsettled = true;
    },
    async push(documentId, waitMs = 1000, lane) {
      const pushed = begin(documentId, lane);
      if (pushed === undefined) return false;
      const late = Promise.withResolvers<boolean>();
      const timer = setTimeout(late.resolve, waitMs, false);
      try {
        return await Promise.race([pushed, late.promise]);
      } finally {
        clearTimeout(timer);
      }
    },
    send: (documentId, lane) => void begin(documentId, lane),
  };
}
