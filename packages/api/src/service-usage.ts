import type { Logger } from '@gatehouse/core/logger';
import { createJetStreamEvents } from '@gatehouse/events/jetstream-events';
import type { EventTransport } from '@gatehouse/events/local-events';
import type { NatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { createUsage, type Usage } from '@gatehouse/server/usage/usage';
import { usageSubject } from '@gatehouse/server/usage/usage-batch';

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
