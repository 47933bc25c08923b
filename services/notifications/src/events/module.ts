import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { createListStreams } from '@gatehouse/api/resource/list-streams';
import { mountResource } from '@gatehouse/api/resource/mount-resource';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { receivers } from '../receivers.ts';
import type { NewEvent, StoredEvent } from './event.ts';
import {
  createEventResource,
  EVENT_TYPE_PATHS,
  EVENT_PATHS as EVENTS_PATHS,
  type FindUnavailable,
  mountEventTypes,
  payloadOf,
} from './event-resource.ts';
import { eventsFrom } from './event-sources.ts';
import { createEventStore, EVENTS } from './event-store.ts';
import { person } from './event-types.ts';
import { createOwners } from './owners.ts';
import { createReadingRights } from './reading-rights.ts';
import { mountTestEvents } from './test-event-routes.ts';

/** The paths of this module, with the error bodies of their routes. */
export const EVENT_PATHS = [...EVENTS_PATHS, ...EVENT_TYPE_PATHS];

type Follower = (event: StoredEvent) => Promise<void>;

const DURABLE = 'notifications_events';

/** Events: what happened in all services, kept for some days, for whoever may read it. */
export function createEventsModule({
  connection,
  identity,
  logger,
  subscribe,
  nats,
  counters,
}: Pick<ResourceContext, 'connection' | 'identity' | 'logger' | 'subscribe' | 'nats' | 'counters'>) {
  const store = createEventStore(connection);
  const owners = createOwners(identity);
  const rights = createReadingRights(owners.find);
  const prepared = Promise.withResolvers<void>();

  let follower: Follower | undefined;
  let findUnavailable: FindUnavailable = async () => () => null;

  /** Stores an event, and passes it on. Durable when it resolves. */
  async function send(event: NewEvent): Promise<StoredEvent> {
    const stored = await store.add(event);
    await follower?.(stored);
    return stored;
  }
  /** Durable when it resolves. */
  async function take(published: OutboxEvent): Promise<void> {
    await Promise.all(eventsFrom(published).map(send));
  }
  const streams = createListStreams<StoredEvent>({
    idPrefix: 'evt',
    latestId: store.latestId,
    eventOf: (event) => ({ type: event.type, data: payloadOf(event) }),
    logger,
  });

  const parts: ResourceParts = {
    routes(app, { mountOptions }) {
      mountResource(app, createEventResource({ store, rights, streams }), mountOptions);
      mountTestEvents(app, { authenticate: mountOptions.authenticate, rights, send, counters });
      mountEventTypes(app, { ...mountOptions, unavailable: (caller) => findUnavailable(caller) });
    },
    prepare: async () => prepared.resolve(),
    background: [
      streams,
      ...receivers(
        [
          { subject: 'identity.audit.*', stream: streamOf('IDENTITY'), durable: DURABLE, handle: take },
          { subject: 'users.user.*', stream: streamOf('USERS'), durable: DURABLE, handle: take },
          { subject: 'commerce.*.*', stream: streamOf('COMMERCE'), durable: DURABLE, handle: take },
        ],
        { prepared: prepared.promise, subscribe, nats, logger },
      ),
    ],
    expiring: [EVENTS],
    erase: (userId) => store.removeOf(person(userId), 'user.deleted'),
    onRevocation: owners.revoked,
  };
  return {
    parts,
    store,
    owners,
    rights,
    take,
    /** Called with each event once it is stored, again when it rejects. */
    follow(listener: Follower): void {
      follower = listener;
    },
    /** Sets how the list of types learns which ones a webhook of the caller's never gets. */
    explainUnavailable(find: FindUnavailable): void {
      findUnavailable = find;
    },
  };
}

const streamOf = (name: string) => ({ name, account: name });
