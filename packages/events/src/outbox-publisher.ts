import type { Logger } from '@gatehouse/core/logger';
import { type OutboxEvent, TOMBSTONES } from '@gatehouse/data/outbox';
import type { EventTransport } from './local-events.ts';
import type { OutboxCollection } from './outbox-lane.ts';
import { createOutboxRelay } from './outbox-relay.ts';
import { publishTraced } from './publish-traced.ts';

/** A write of the document that has the id given first, or of a new document, whose aggregate is given. */
type Write = (target: never, ...rest: never[]) => Promise<unknown>;

export type OutboxPublisher = {
  /** Starts looking for events that were not delivered, of this process and of any other. */
  start(): void;
  /** Lets the deliveries under way end, and begins no other. */
  stop(): Promise<void>;
  /**
   * The store, with the events of each of these writes on their way to the transport when it resolves: not waited for,
   * since listeners take their own time.
   */
  publishing<K extends string, S extends Record<K, Write>>(store: S, writes: readonly K[]): S;
  /** Delivers the events of a document that go to the receiver of this subject, for `waitMs` at most. Never rejects. */
  deliver(documentId: string, subject: string, waitMs: number): Promise<boolean>;
  /** As deliver(), for callers that do not wait. */
  send(documentId: string, subject: string): void;
};

/**
 * Publishes the events of a collection: those of a write right after it, and others, such as those of a process that was
 * killed, at the next sweep. The rest of a deleted document is removed with its last event.
 *
 * @param options.transport where events go; without it nobody listens, and they are let go
 * @param options.receivers who gets the events of some subjects instead of the transport. None of them waits for another,
 * nor for the transport. A receiver rejects to be given the event again
 * @param options.tombstones whether documents are ever deleted with events of their own; if not, an event is removed by the
 * id of its document alone, which costs the database less
 */
export function createOutboxPublisher(options: {
  collection: OutboxCollection;
  logger: Logger;
  transport?: EventTransport | undefined;
  receivers?: Readonly<Record<string, (event: OutboxEvent) => Promise<void>>>;
  tombstones?: boolean;
}): OutboxPublisher {
  const { collection, logger, transport, receivers = {}, tombstones = true } = options;
  const laneOf = ({ subject }: { subject: string }) => (Object.hasOwn(receivers, subject) ? subject : '');
  const relay = createOutboxRelay({
    collection,
    ...(Object.keys(receivers).length === 0 ? {} : { lane: laneOf }),
    async deliver(event) {
      const receive = receivers[laneOf(event)] ?? transport?.publish;
      await publishTraced(event, async (caused) => receive?.(caused));
    },
    logger,
    ...(tombstones ? { tombstone: TOMBSTONES } : {}),
  });

  return {
    start: relay.start,
    stop: relay.stop,
    publishing(store, writes) {
      const published = writes.map((name) => [
        name,
        async (target: string | { id: string }, ...rest: unknown[]) => {
          const write = async (): Promise<unknown> => Reflect.apply(store[name], store, [target, ...rest]);
          const result = await write().catch((error: unknown) => {
            relay.suspect();
            throw error;
          });
          relay.send(typeof target === 'string' ? target : target.id, '');
          return result;
        },
      ]);
      return { ...store, ...Object.fromEntries(published) };
    },
    deliver: (documentId, subject, waitMs) => relay.push(documentId, waitMs, laneOf({ subject })),
    send: (documentId, subject) => relay.send(documentId, laneOf({ subject })),
  };
}
