import { shape } from '@gatehouse/api/openapi/shapes';
import { Type } from 'typebox';
import { type EventStream, MIN_VERIFICATION_SECONDS, POLL, PUSH, STATUSES } from './event-stream.ts';
import { EVENTS_SUPPORTED } from './event-types.ts';

export const Id = Type.String({ maxLength: 100 });
const Uris = Type.Array(Type.String({ maxLength: 500 }), { maxItems: 100 });
const Delivery = Type.Object({
  method: Type.Unsafe<typeof PUSH | typeof POLL>({ type: 'string', enum: [PUSH, POLL] }),
  endpoint_url: Type.Optional(
    Type.Union([Type.String({ maxLength: 2000 }), Type.Null()], {
      description: 'Where events are sent. For polling, the transmitter sets it.',
    }),
  ),
});
export const SentDelivery = Type.Object({
  ...Delivery.properties,
  authorization_header: Type.Optional(
    Type.Union([Type.String({ maxLength: 4000, pattern: '^[!-~][ -~]*$' }), Type.Null()], {
      description:
        'The Authorization header of each request with an event. It is stored encrypted, and not returned.',
    }),
  ),
});
export const Settings = {
  delivery: Type.Optional(SentDelivery),
  events_requested: Type.Optional(Uris),
  description: Type.Optional(Type.String({ maxLength: 500 })),
};
/** The members that the transmitter sets, which a receiver may send back as they are. */
export const Supplied = {
  iss: Type.Optional(Type.Unknown()),
  aud: Type.Optional(Type.Unknown()),
  events_supported: Type.Optional(Type.Unknown()),
  events_delivered: Type.Optional(Type.Unknown()),
  min_verification_interval: Type.Optional(Type.Unknown()),
  inactivity_timeout: Type.Optional(Type.Unknown()),
};
export const Changes = Type.Object({ stream_id: Id, ...Settings, ...Supplied });
export const Stream = Type.Object({
  stream_id: Id,
  iss: Type.String(),
  aud: Type.String({ description: 'The client ID of the application.' }),
  delivery: Delivery,
  events_supported: Uris,
  events_requested: Type.Optional(Uris),
  events_delivered: Uris,
  min_verification_interval: Type.Integer({
    description: 'The seconds between two requests for a verification event that never lead to a 429.',
  }),
  description: Type.Optional(Type.String()),
});
export const example = {
  stream_id: 'str_01m7g9w2k0000c4v8x3r6t5n1z',
  iss: 'https://login.example.com',
  aud: 'app_01m7g9v7d0000a3b9e5k2m8p4q',
  delivery: { method: PUSH, endpoint_url: 'https://app.example.com/events' },
  events_supported: EVENTS_SUPPORTED,
  events_requested: EVENTS_SUPPORTED.slice(0, 2),
  events_delivered: EVENTS_SUPPORTED.slice(0, 2),
  min_verification_interval: MIN_VERIFICATION_SECONDS,
};
export const newExample = { delivery: example.delivery, events_requested: example.events_requested };
export const streamShape = shape('EventStream', Stream, example);
export const statusShape = shape(
  'EventStreamStatus',
  Type.Object({
    stream_id: Id,
    status: Type.Unsafe<EventStream['status']>({ type: 'string', enum: STATUSES }),
    reason: Type.Optional(Type.String({ maxLength: 500 })),
  }),
  { stream_id: example.stream_id, status: 'enabled' },
);
export const Subject = Type.Object({
  stream_id: Id,
  subject: Type.Object({
    format: Type.String(),
    iss: Type.Optional(Type.String({ maxLength: 500 })),
    sub: Type.Optional(Type.String({ maxLength: 254 })),
  }),
});
export const subjectShape = shape('EventStreamSubject', Subject, {
  stream_id: example.stream_id,
  subject: { format: 'iss_sub', iss: example.iss, sub: 'usr_01m7g9v7d0000a3b9e5k2m8p4q' },
});
export const ofStream = Type.Object({ stream_id: Id });
/** RFC 8936 §2.2 and §2.3. */
export const pollShape = shape(
  'EventPoll',
  Type.Object({
    maxEvents: Type.Optional(Type.Integer({ minimum: 0 })),
    returnImmediately: Type.Optional(Type.Boolean()),
    ack: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 1000 })),
    setErrs: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object({ err: Type.Optional(Type.String()), description: Type.Optional(Type.String()) }),
      ),
    ),
  }),
  { returnImmediately: true },
);
export const polledShape = shape(
  'PolledEvents',
  Type.Object({ sets: Type.Record(Type.String(), Type.String()), moreAvailable: Type.Boolean() }),
  {
    sets: {},
    moreAvailable: false,
  },
);
