import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { continueTrace, during } from '@gatehouse/core/tracing';
import { within } from '@gatehouse/core/within';
import { createBatches } from '@gatehouse/data/batches';
import type { Database } from '@gatehouse/data/database';
import { OUTBOX_INDEX, type OutboxEvent, type StoredEvents, TOMBSTONES } from '@gatehouse/data/outbox';
import { createFailureLog } from './failure-log.ts';
import type { EventTransport } from './local-events.ts';

/** A write whose first argument is the id of the document, or the aggregate of a new one. */
type Write = (target: never, ...rest: never[]) => Promise<unknown>;
/** Resolves when the event is durably stored; rejects to be called again. May get the same event twice. */
type Receive = (event: OutboxEvent) => Promise<void>;

export type OutboxPublisher = {
  /** Starts looking for events that were not published, of this process and of any other. */
  start(): void;
  /** Lets the publishing under way end, and begins no other. */
  stop(): Promise<void>;
  /**
   * The store whose writes also start to publish their events before they resolve. They do not wait for that, since listeners take their
   * own time. The events of a write that resolves to StoredEvents are not read again.
   */
  publishing<K extends string, S extends Record<K, Write>>(store: S, writes: readonly K[]): S;
  /**
   * Publishes the events of a document that go to the receiver of this subject, for `waitMs` at most: then it goes on.
   * Resolves to whether they are published. Never rejects.
   */
  publish(documentId: string, subject: string, waitMs: number): Promise<boolean>;
  /** As publish(), for callers that do not wait. */
  send(documentId: string, subject: string): void;
};

/** Documents whose events a sweep publishes at the same time. */
const SWEEP_CONCURRENCY = 8;
/** The number of documents in flight above which the others are left to sweeps, since the receiver probably hangs. */
const MAX_IN_FLIGHT = 256;
/** The pause of a sweep while nothing can be published. */
const BACKOFF_MS = { first: 100, max: 5000 };
/** Documents that are read or written with one command. */
const BATCH_SIZE = 100;
/** The greatest share of the time that is spent on searching. */
const MAX_SEARCH_SHARE = 0.1;
/** The pause between two searches while events wait that this process knows of. */
const RETRY_SECONDS = 2;
/** The longest pause between two searches, for one that was held up and succeeded after all. */
const MAX_PAUSE_MS = 30_000;

/**
 * Publishes the events that wait in the documents of a collection, at least once: right after their write or, if the process was killed,
 * at the next sweep. An event is removed from its document when it has been taken. The events of one document
 * come in their order, and one that fails holds up only the later ones of its document. Several replicas may publish from the same
 * collection: an event may then be published twice, but never for the first time before an earlier one of its document.
 *
 * @param options.collection has the OUTBOX_INDEX, and an array `outbox` in its documents. The rest of a deleted document
 * (see TOMBSTONES) is removed with its last event
 * @param options.transport publishes the events; without it they are removed unpublished
 * @param options.receivers who gets the events of some subjects instead of the transport. None of them waits for another,
 * nor for the transport
 * @param options.sweepSeconds the interval between searches for events that others were to publish
 * @param options.publishSeconds the time after which the publishing of an event counts as failed
 */
export function createOutboxPublisher(options: {
  collection: ReturnType<Database['connection']['collection']>;
  logger: Logger;
  transport?: EventTransport | undefined;
  receivers?: Readonly<Record<string, Receive>>;
  sweepSeconds?: number;
  publishSeconds?: number;
}): OutboxPublisher {
  const { collection, logger, transport, receivers = {}, sweepSeconds = 30, publishSeconds = 10 } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const documents = createDocuments(collection);
  const logOf = () => createFailureLog(logger, 'an event could not be published; trying again', signal);
  const logFailure = logOf();
  const targets = [...Object.entries(receivers), ['', transport?.publish] as const];
  const receiverOf = (subject: string) => (Object.hasOwn(receivers, subject) ? subject : '');
  const forwarders = new Map(
    targets.map(([name, receive]) => {
      const publish = (event: OutboxEvent) =>
        within(publishSeconds * 1000, publishTraced(event, receive), 'The publishing of the event');
      const takes = ({ subject }: OutboxEvent) => receiverOf(subject) === name;
      return [name, createForwarder({ documents, publish, takes, logFailure: logOf(), stopping: signal })];
    }),
  );
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

  /** Starts a sweep of every forwarder that has waiting events. */
  async function search(): Promise<void> {
    isUnsettled = false;
    searchAt = performance.now() + sweepSeconds * 1000;
    for await (const { outbox } of documents.waiting()) {
      isUnsettled = true;
      if (signal.aborted) return;
      for (const { subject } of outbox) forwarders.get(receiverOf(subject))?.sweep();
      if (forwarders.size === 1) return;
    }
  }

  async function begin(id: string, subject: string, outbox?: StoredEvents['outbox']): Promise<boolean> {
    const isPublished =
      !signal.aborted && (await forwarders.get(receiverOf(subject))?.push(id, outbox)) === true;
    if (!isPublished) isUnsettled = true;
    return isPublished;
  }

  return {
    start: searching.start,
    async stop() {
      stopping.abort();
      await searching.stop();
      await Promise.all([...forwarders.values()].map((forwarder) => forwarder.ended()));
    },
    publishing(store, writes) {
      const published = writes.map((name) => [
        name,
        async (target: string | { id: string }, ...rest: unknown[]) => {
          const write = async (): Promise<unknown> => Reflect.apply(store[name], store, [target, ...rest]);
          const result = await write().catch((error: unknown) => {
            // Perhaps it was made all the same.
            isUnsettled = true;
            throw error;
          });
          const { outbox } = Object(result) as Partial<StoredEvents>;
          void begin(typeof target === 'string' ? target : target.id, '', outbox);
          return result;
        },
      ]);
      return { ...store, ...Object.fromEntries(published) };
    },
    publish: (id, subject, waitMs) => within(waitMs, begin(id, subject)).catch(() => false),
    send: (id, subject) => void begin(id, subject),
  };
}

/** Publishes to one receiver. Forwarders share nothing, so that none waits for another. */
function createForwarder(options: {
  documents: ReturnType<typeof createDocuments>;
  publish: Receive;
  /** Whether an event goes to this receiver. */
  takes: (event: OutboxEvent) => boolean;
  logFailure: ReturnType<typeof createFailureLog>;
  stopping: AbortSignal;
}) {
  const { documents, publish, takes, logFailure, stopping } = options;
  /** By document: two at once would mix up the order. The next one sees everything written until then. */
  const inFlight = new Map<unknown, { current: Promise<boolean>; next?: Promise<boolean> }>();
  let sweeping: Promise<void> | undefined;
  /** Consecutive batches without a published event. */
  let failedBatches = 0;

  function publishDocument(id: unknown, outbox?: StoredEvents['outbox']): Promise<boolean> {
    const before = inFlight.get(id);
    if (before !== undefined) {
      before.next ??= before.current.then(() => publishDocument(id));
      return before.next;
    }
    const current = publishEvents(id, outbox).finally(() => inFlight.delete(id));
    inFlight.set(id, { current });
    return current;
  }

  /** Publishes the events that wait now. Later ones are published by the process that writes them, or by a sweep. */
  async function publishEvents(id: unknown, outbox?: StoredEvents['outbox']): Promise<boolean> {
    let event: OutboxEvent | undefined;
    const events: string[] = [];
    try {
      try {
        for (event of (outbox ?? (await documents.read(id))).filter(takes)) {
          if (stopping.aborted) return false;
          await publish(event);
          events.push(event.id);
        }
      } finally {
        if (events.length > 0) await documents.remove({ id, events });
      }
      return true;
    } catch (error) {
      logFailure(error, { document: id, event: event?.id, subject: event?.subject });
      return false;
    }
  }

  async function sweep(): Promise<void> {
    let batch: unknown[] = [];
    for await (const { _id, outbox } of documents.waiting()) {
      if (stopping.aborted) return;
      if (inFlight.has(_id) || !outbox.some(takes)) continue;
      if (batch.push(_id) < SWEEP_CONCURRENCY) continue;
      await publishBatch(batch);
      batch = [];
    }
    await publishBatch(batch);
  }

  /**
   * When the events of none of the documents can be published, the receiver is probably away: waits, longer each time, before the
   * sweep continues. It does continue, so that bad events, however many, do not keep the others waiting for ever.
   */
  async function publishBatch(ids: unknown[]): Promise<void> {
    if (ids.length === 0 || stopping.aborted) return;
    const results = await Promise.all(ids.map((id) => publishDocument(id)));
    failedBatches = results.includes(true) ? 0 : failedBatches + 1;
    if (failedBatches === 0) return;
    const delay = Math.min(BACKOFF_MS.first * 2 ** (failedBatches - 1), BACKOFF_MS.max);
    await sleep(delay * (0.5 + Math.random() / 2), undefined, { signal: stopping }).catch(() => {});
  }

  return {
    /** Resolves to whether all events of the document are published. Never rejects. */
    push: async (id: unknown, outbox?: StoredEvents['outbox']) =>
      inFlight.size < MAX_IN_FLIGHT && publishDocument(id, outbox),
    /** Starts to publish the waiting events, unless a sweep is under way. */
    sweep() {
      sweeping ??= sweep()
        .catch((error: unknown) => logFailure(error, {}))
        .finally(() => {
          sweeping = undefined;
        });
    },
    /** Resolves when nothing is in flight, after `stopping`. */
    async ended() {
      await sweeping;
      await Promise.all([...inFlight.values()].map(({ current, next }) => next ?? current));
    },
  };
}

/** The documents of a collection with an outbox. Those that are asked for at the same time are read and changed together. */
function createDocuments(collection: Parameters<typeof createOutboxPublisher>[0]['collection']) {
  const among = (ids: readonly unknown[]) => ({ _id: { $in: ids as never[] } });
  return {
    async *waiting(): AsyncGenerator<{ _id: unknown; outbox: OutboxEvent[] }> {
      const { partialFilterExpression: isWaiting, name: hint } = OUTBOX_INDEX.options;
      const cursor = collection.find(isWaiting, { projection: { outbox: 1 }, hint, batchSize: BATCH_SIZE });
      try {
        for await (const { _id, outbox } of cursor) yield { _id, outbox: outbox as OutboxEvent[] };
      } finally {
        await cursor.close();
      }
    },
    read: createBatches<unknown, OutboxEvent[]>({
      max: BATCH_SIZE,
      async run(ids) {
        const found = await collection.find(among(ids), { projection: { outbox: 1 } }).toArray();
        const outboxes = new Map(found.map(({ _id, outbox }) => [_id as unknown, outbox as OutboxEvent[]]));
        return ids.map((id) => outboxes.get(id) ?? []);
      },
    }),
    remove: createBatches<{ id: unknown; events: string[] }, void>({
      max: BATCH_SIZE,
      async run(removed) {
        const all = among(removed.map(({ id }) => id));
        const events = removed.flatMap((it) => it.events);
        // A tombstone is deleted together with its last events, so that neither a crash nor another forwarder can leave an empty one.
        const isOver = { ...TOMBSTONES, outbox: { $not: { $elemMatch: { id: { $nin: events } } } } };
        const pull = { $pull: { outbox: { id: { $in: events } } } } as Record<string, unknown>;
        const { matchedCount } = await collection.updateMany({ ...all, $nor: [isOver] }, pull);
        if (matchedCount < removed.length) await collection.deleteMany({ ...all, ...isOver } as never);
        return removed.map(() => undefined);
      },
    }),
  };
}

/** Publishes an event in a span of the trace that caused it, which becomes that of the event. */
async function publishTraced(event: OutboxEvent, receive: Receive | undefined): Promise<void> {
  const { id, subject } = event;
  const span = continueTrace(event.traceparent, `publish ${subject}`, {
    kind: 'producer',
    attributes: { 'messaging.destination.name': subject, 'messaging.message.id': id },
  });
  const caused = span === undefined ? event : { ...event, traceparent: span.traceparent };
  await during(span, async () => receive?.(caused));
}
