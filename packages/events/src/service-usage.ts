import type { Logger } from '@gatehouse/core/logger';
import { createJetStreamEvents } from './jetstream-events.ts';
import type { EventTransport } from './local-events.ts';
import type { NatsBroadcast } from './nats-broadcast.ts';
import { createUsage, type Usage } from './usage.ts';
import { usageSubject } from './usage-batch.ts';

/**
 * Counts the usage of a service, and sends it to analytics: as events within this process or, without `events`, over NATS.
 * Undefined if there is neither, and nobody to count for.
 */
export function createServiceUsage(options: {
  name: string;
  logger: Logger;
  events: EventTransport | undefined;
  nats: NatsBroadcast['connection'] | undefined;
}): Usage | undefined {
  const { name, logger, nats } = options;
  const events = options.events ?? (nats && createJetStreamEvents({ connection: nats }));
  if (events === undefined) return undefined;
  return createUsage({
    service: name,
    isAnnounced: options.events === undefined,
    logger,
    send: (batch) =>
      events.publish({ id: batch.id, subject: usageSubject(name), at: new Date(), data: batch }),
  });
}
