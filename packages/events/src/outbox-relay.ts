import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/kit/logger';
import { OUTBOX_INDEX, type OutboxEvent } from '@gatehouse/mongo/outbox';
import { createFailureLog, createOutboxLane, type OutboxCollection, type OutboxLane } from './outbox-lane.ts';

export type OutboxRelayOptions = {
  collection: OutboxCollection;
  /** Resolves when the event is durably taken; rejects to be tried again. It must bear the same event twice. */
  deliver: (event: OutboxEvent) => Promise<void>;
  logger: Logger;
  /** By which lane an event goes, always the same for the same event; all by one when absent. */
  lane?: (event: OutboxEvent) => string;
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
   * Delivers the events of this document now, those of one lane or all. Resolves with true when they are delivered,
   * with false when that failed or takes longer than `waitMs` (it then goes on, and a sweep does the rest). Never
   * rejects.
   */
  push(documentId: string, waitMs?: number, lane?: string): Promise<boolean>;
};

const BATCH = 100;
/** Of the time, this share at most is spent on looking for what waits. */
const LOOKING = 0.1;

/**
 * Delivers the events that wait in documents, at least once: an event is taken out of its document only after
 * deliver() has resolved. The events of a document that go by the same lane are delivered in their order, and one
 * that fails holds up the later ones of its document and lane alone; lanes do not wait for each other. Several
 * replicas may run a relay over the same collection: an event may then come twice, but none for the first time
 * before an earlier one of its document and lane.
 */
export function createOutboxRelay(options: OutboxRelayOptions): OutboxRelay {
  const { collection, deliver, logger, sweepSeconds = 2, deliverSeconds = 10, tombstone } = options;
  const laneOf = options.lane ?? (() => '');
  const stopping = new AbortController();
  const { signal } = stopping;
  const logFailure = createFailureLog(logger, signal);
  const lanes = new Map<string, OutboxLane>();
  let looking: Promise<void> | undefined;

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
      batchSize: BATCH,
    });
    try {
      for await (const { _id, outbox } of cursor) yield { _id, outbox: outbox as OutboxEvent[] };
    } finally {
      await cursor.close();
    }
  }

  /** Lets every lane sweep for which something waits. */
  async function look(): Promise<void> {
    for await (const { outbox } of waiting()) {
      if (signal.aborted) return;
      for (const event of outbox) laneNamed(laneOf(event)).sweep();
      // Where there is but one lane, there is no other to look for.
      if (options.lane === undefined) return;
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const begin = performance.now();
      await look().catch((error: unknown) => logFailure(error, {}));
      const pause = Math.max(sweepSeconds * 1000, (performance.now() - begin) / LOOKING);
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  }

  async function pushAll(id: string): Promise<boolean> {
    if (options.lane === undefined) return (await laneNamed('').push(id)) ?? false;
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
    start() {
      looking ??= run();
    },
    async stop() {
      stopping.abort();
      await looking;
      await Promise.all([...lanes.values()].map((lane) => lane.ended()));
    },
    async push(documentId, waitMs = 1000, lane) {
      if (signal.aborted) return false;
      const pushed = lane === undefined ? pushAll(documentId) : laneNamed(lane).push(documentId);
      if (pushed === undefined) return false;
      const timer = new AbortController();
      const late = sleep(waitMs, false, { signal: timer.signal }).catch(() => false);
      try {
        return await Promise.race([pushed, late]);
      } finally {
        timer.abort();
      }
    },
  };
}
