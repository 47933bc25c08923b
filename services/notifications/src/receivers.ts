import { setTimeout as sleep } from 'node:timers/promises';
import type { ResourceContext } from '@gatehouse/api/resource/create-resource-service';
import { unavailable } from '@gatehouse/core/errors';
import { createStreamConsumer, type StreamConsumerOptions } from '@gatehouse/events/jetstream-consumer';
import type { EventHandler } from '@gatehouse/events/local-events';

const PREPARED_WITHIN_MS = 8000;

/** The events that are received: by their subject within this process, else from a stream of NATS. */
export type Received = Pick<StreamConsumerOptions, 'stream' | 'durable'> & {
  subject: string;
  /** Resolves when it is durably handled; rejects to get it again. */
  handle(...of: Parameters<EventHandler>): Promise<void>;
};

/**
 * Passes on the events of other services: within this process, or from streams of NATS. A message is acknowledged after it has been
 * handled. An event within this process waits for the database; it is refused if that takes too long, since the process may be stopped
 * while it starts. The consumers of NATS must be started.
 */
export function receivers(
  received: readonly Received[],
  {
    prepared,
    subscribe,
    nats,
    logger,
  }: { prepared: Promise<void> } & Pick<ResourceContext, 'subscribe' | 'nats' | 'logger'>,
): { start(): void; stop(): Promise<void> }[] {
  if (subscribe !== undefined) {
    for (const { subject, handle } of received) {
      subscribe(subject, async (event) => {
        await inTime(prepared);
        await handle(event);
      });
    }
    return [];
  }
  if (nats === undefined) return [];
  return received.map(({ stream, durable, handle }) =>
    createStreamConsumer({ connection: nats, logger, stream, durable, handle }),
  );
}

/** Rejects with `unavailable` when it takes longer than PREPARED_WITHIN_MS. */
async function inTime(prepared: Promise<void>): Promise<void> {
  const late = sleep(PREPARED_WITHIN_MS, true, { ref: false });
  if (await Promise.race([prepared, late])) throw unavailable('The service is not ready yet.');
}
