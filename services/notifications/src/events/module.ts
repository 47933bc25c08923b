import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { mountResource } from '@gatehouse/api/resource/mount-resource';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { receivers } from '../receivers.ts';
import {
  createEventResource,
  EVENT_TYPE_PATHS,
  EVENT_PATHS as EVENTS_PATHS,
  mountEventTypes,
} from './event-resource.ts';
import { eventsFrom } from './event-sources.ts';
import { createEventStore, EVENTS } from './event-store.ts';
import { person } from './event-types.ts';
import { createReadingRights } from './reading-rights.ts';

/** The paths of this module, with the error bodies of their routes. */
export const EVENT_PATHS = [...EVENTS_PATHS, ...EVENT_TYPE_PATHS];

const DURABLE = 'notifications_events';

/** Events: what happened in all services, kept for some days, for whoever may read it. */
export function createEventsModule({
  connection,
  identity,
  logger,
  subscribe,
  nats,
}: Pick<ResourceContext, 'connection' | 'identity' | 'logger' | 'subscribe' | 'nats'>) {
  const store = createEventStore(connection);
  const rights = createReadingRights(identity);
  const prepared = Promise.withResolvers<void>();

  /** Durable when it resolves. */
  async function take(published: OutboxEvent): Promise<void> {
    await Promise.all(eventsFrom(published).map(store.add));
  }

  const parts: ResourceParts = {
    routes(app, { mountOptions }) {
      mountResource(app, createEventResource({ store, rights }), mountOptions);
      mountEventTypes(app, mountOptions);
    },
    prepare: async () => prepared.resolve(),
    background: receivers(
      [
        { subject: 'users.user.*', stream: streamOf('USERS'), durable: DURABLE, handle: take },
        { subject: 'commerce.*.*', stream: streamOf('COMMERCE'), durable: DURABLE, handle: take },
      ],
      { prepared: prepared.promise, subscribe, nats, logger },
    ),
    expiring: [EVENTS],
    erase: (userId) => store.removeOf(person(userId), 'user.deleted'),
    onRevocation: rights.revoked,
  };
  return { parts, store, rights };
}

const streamOf = (name: string) => ({ name, account: name });
