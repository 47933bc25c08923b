import type { Logger } from '@gatehouse/core/logger';
import { SERVICES, type ServiceEntry } from '@gatehouse/core/services';
import type { Broadcast } from '@gatehouse/events/broadcast';
import { createJetStreamEvents } from '@gatehouse/events/jetstream-events';
import { createJobQueues } from '@gatehouse/events/job-queue';
import type { EventTransport, LocalEvents } from '@gatehouse/events/local-events';
import type { NatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { createUsage, type Usage } from '@gatehouse/server/usage/usage';
import { usageSubject } from '@gatehouse/server/usage/usage-batch';

const ENTRIES: Readonly<Record<string, ServiceEntry | undefined>> = SERVICES;

/**
 * The broadcast, the events and the job queues of a service: over NATS, or within its process, where the broadcast and events are given.
 * Throws unless there is a broadcast or `natsUrl`.
 */
export function createMessaging<B>(
  name: string,
  natsUrl: string | undefined,
  given: { broadcast?: B | undefined; events?: EventTransport | LocalEvents | undefined },
  logger: Logger,
) {
  const own = given.broadcast === undefined ? natsBroadcast(natsUrl, name, logger) : undefined;
  const nats = own?.connection;
  const consumers = ENTRIES[name]?.eventConsumers ?? [];
  const stream = { name: name.toUpperCase(), subjects: [`${name}.>`], consumers };
  const usage = createServiceUsage({ name, logger, events: given.events, nats });
  return {
    broadcast: given.broadcast ?? (own as Broadcast),
    usage,
    /** To be started first. */
    connections: [own ?? {}, usage ?? {}],
    context: {
      /** To the other processes of the service. */
      broadcast: own as Broadcast | undefined,
      events: given.events ?? (nats && createJetStreamEvents({ connection: nats, stream })),
      subscribe:
        given.events !== undefined && 'subscribe' in given.events ? given.events.subscribe : undefined,
      queues: createJobQueues({ name, broadcast: own, logger }),
      nats,
    },
  };
}

function natsBroadcast(natsUrl: string | undefined, name: string, logger: Logger) {
  if (natsUrl === undefined) throw new Error('neither a broadcast nor natsUrl is given');
  return createNatsBroadcast({ url: natsUrl, name, logger });
}

/**
 * Counts the usage of a service, and sends it to analytics: as events within this process or, without `events`, over NATS. Undefined
 * without either.
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
