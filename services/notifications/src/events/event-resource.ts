import { plainBody } from '@gatehouse/api/http/error-bodies';
import { cursorEnvelope } from '@gatehouse/api/lists/paging';
import { ok, shape } from '@gatehouse/api/openapi/shapes';
import type { ListStreams } from '@gatehouse/api/resource/list-streams';
import { mountEndpoints, uncached } from '@gatehouse/api/resource/mount-endpoints';
import { type Profile, view } from '@gatehouse/api/resource/profile';
import type { Resource, ResourcePath } from '@gatehouse/api/resource/resource';
import { ServiceError } from '@gatehouse/core/errors';
import { timeOfId } from '@gatehouse/core/ids';
import type { Caller } from '@gatehouse/tokens/caller';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import { type EventField, type EventStore, KEPT_DAYS, type StoredEvent } from './event.ts';
import { ADMIN, EVENT_TYPE_NAMES, EVENT_TYPES } from './event-types.ts';
import { conditionsOf, type ReadingRights, visibleTo, withActors } from './reading-rights.ts';

type EventTypes = { entity: StoredEvent; field: EventField; draft: never; changes: never };

export const READ = ['read:data', 'read:users', 'read:all', 'manage:apps'];
export const EVENTS_PATH = '/api/v1/events';
const TYPES_PATH = '/api/v1/event-types';
const TypeName = Type.String({ enum: EVENT_TYPE_NAMES });
const Data = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: 'object',
  additionalProperties: true,
  description: 'The data of the event, by the schema of its type in GET /api/v1/event-types.',
});

/** An event as it is delivered: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#payload-structure */
export const payloadOf = ({ type, occurredAt, data, test }: StoredEvent) => ({
  type,
  timestamp: occurredAt.toISOString(),
  data,
  ...(test ? { test } : {}),
});

const eventView = view(
  'Event',
  Type.Object({
    id: Type.String({ description: 'Also the `webhook-id` of its deliveries.' }),
    type: TypeName,
    timestamp: Type.String({ format: 'date-time', description: 'When it happened.' }),
    data: Data,
    test: Type.Optional(
      Type.Boolean({ description: 'Present in an event of POST /api/v1/events/test: nothing has happened.' }),
    ),
    created_at: Type.String({
      format: 'date-time',
      description: 'When it was stored; the list is in this order.',
    }),
  }),
  (event: StoredEvent) => ({
    id: event.id,
    ...payloadOf(event),
    created_at: timeOfId(event.id).toISOString(),
  }),
);

const plain: Profile<EventTypes> = {
  name: 'plain',
  about: 'the events, by cursor',
  errorBody: plainBody,
  list: {
    rules: {
      filters: {
        type: { field: 'type', type: 'string', values: EVENT_TYPE_NAMES, operators: ['eq', 'in'] },
        id: { field: 'id', type: 'string', operators: ['gt', 'lt'] },
      },
      plain: [],
      sort: { fields: { created_at: 'id' }, by: 'sort', order: 'order' },
      paging: 'cursor',
    },
    envelope: cursorEnvelope,
    item: eventView,
  },
  read: eventView,
};

export const EVENT_PATHS: readonly ResourcePath<EventTypes>[] = [{ prefix: EVENTS_PATH, profiles: [plain] }];
export const EVENT_TYPE_PATHS = [
  { prefix: TYPES_PATH, profiles: [{ name: 'plain', about: 'the types of events', errorBody: plainBody }] },
];

/** The events of the last days as a resource. */
export function createEventResource({
  store,
  rights,
  streams,
}: {
  store: EventStore;
  rights: ReadingRights;
  streams: ListStreams<StoredEvent>;
}): Resource<EventTypes> {
  return {
    noun: { one: 'an event', many: 'events' },
    idPrefix: 'evt',
    paths: EVENT_PATHS,
    operations: {
      list: {
        scopes: READ,
        streams,
        source(caller) {
          const all = store.where(async () => conditionsOf(await rights.ofCaller(caller)));
          return {
            ...all,
            async byKeyset(...query) {
              const [found, given] = await Promise.all([all.byKeyset(...query), rights.ofCaller(caller)]);
              return { ...found, items: found.items.map((event) => withActors(given, event)) };
            },
          };
        },
        description:
          `The events of the last ${KEPT_DAYS} days that the caller may read, the oldest first; one is listed a second after it has ` +
          'been stored. Go on later with `filter[id][gt]` and the id of the last event. People see what concerns themselves and ' +
          'their own applications, and what happens to products; editors and trusted applications everything that is not about ' +
          'accounts of applications; admins everything. Events about users need read:users; those about sign-ins, applications and ' +
          'credentials need manage:apps, which no application has. With `Accept: text/event-stream` the events come as Server-Sent ' +
          'Events, from now on or after the event of `Last-Event-ID`, until the token ends.',
      },
      read: {
        scopes: READ,
        async run(id, caller) {
          const found = await store.findById(id);
          const visible = found && visibleTo(await rights.ofCaller(caller), found);
          if (visible !== undefined) return visible;
          throw new ServiceError('not_found', 'There is no such event.');
        },
      },
    },
    example: {
      id: 'evt_06f2k1c8w0h3v5n7q9t1x3z5b7',
      type: 'order.created',
      data: EVENT_TYPES['order.created'].example,
      occurredAt: new Date('2026-03-01T09:30:00Z'),
      aggregate: 'ord_06f2k1c8w0h3v5n7q9t1x3z5b7',
      sequence: 1,
      readers: [ADMIN],
      source: 'evt_06f2k1c8w0h3v5n7q9t1x3z5b6',
      test: false,
      version: 1,
    },
  };
}

/** Finds why a webhook that the caller creates now never gets events of a type; null when it may. */
export type FindUnavailable = (caller: Caller) => Promise<(type: string) => string | null>;

/** Mounts GET /api/v1/event-types. */
export function mountEventTypes(
  app: FastifyInstance,
  { authenticate, unavailable }: { authenticate: onRequestAsyncHookHandler; unavailable: FindUnavailable },
): void {
  const Schema = Type.Unsafe<object>({
    type: 'object',
    additionalProperties: true,
    description: 'A JSON Schema of the data.',
  });
  const schema = Type.Object({
    data: Type.Array(
      Type.Object({
        type: TypeName,
        description: Type.String(),
        scopes: Type.Array(Type.String(), { description: 'One of them is needed.' }),
        unavailable_reason: Type.Union([Type.String(), Type.Null()], {
          description: 'Why a webhook that you create now never gets it; null when it may.',
        }),
        schema: Schema,
        example: Type.Object({ type: TypeName, timestamp: Type.String({ format: 'date-time' }), data: Data }),
      }),
    ),
  });
  const timestamp = '2026-03-01T09:30:00.000Z';
  const types = EVENT_TYPE_NAMES.map((type) => {
    const { description, scopes, schema, example } = EVENT_TYPES[type];
    return { type, description, scopes, schema, example: { type, timestamp, data: example } };
  });
  const example = { data: types.slice(0, 1).map((it) => ({ ...it, unavailable_reason: null })) };
  const path = { prefix: TYPES_PATH, errors: { body: plainBody }, scopes: [] };
  mountEndpoints(app, authenticate, path).get('list', '/', {
    operationId: 'event_types',
    summary: 'List the types of events',
    description: 'The types that webhooks subscribe to, each with a schema and an example of its payload.',
    responses: ok('The types.', shape('EventTypes', schema, example)),
    async handle({ caller, reply }) {
      const reasonOf = await unavailable(caller);
      const data = types.map((it) => ({ ...it, unavailable_reason: reasonOf(it.type) }));
      return uncached(reply, JSON.stringify({ data }));
    },
  });
}
