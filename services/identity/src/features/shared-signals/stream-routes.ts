import { invalidFields } from '@gatehouse/api/http/schema';
import { created, done, ok, shape } from '@gatehouse/api/openapi/shapes';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { isLoopback, uriProblem } from '@gatehouse/core/web-uris';
import { SSF_MANAGE, SSF_READ } from '@gatehouse/tokens/scopes';
import { type Static, Type } from 'typebox';
import { type EventStream, MIN_VERIFICATION_SECONDS, POLL, PUSH } from './event-stream.ts';
import type { EventStreams, SentSettings } from './event-streams.ts';
import { EVENTS_SUPPORTED } from './event-types.ts';
import type { StreamApi } from './stream-api.ts';
import {
  Changes,
  example,
  Id,
  newExample,
  ofStream,
  Settings,
  Stream,
  Supplied,
  streamShape,
} from './stream-shapes.ts';
import { PREFIX } from './transmitter-routes.ts';

/** /api/v1/ssf/streams (Shared Signals 1.0 §8.1.1). Errors are thrown. */
export function addStreamRoutes(
  { api, ownStream, findStream }: StreamApi,
  options: {
    issuer: string;
    streams: EventStreams;
    /** Whether events may be sent to this computer over http. */
    allowsLoopback: boolean;
  },
): void {
  const { streams, allowsLoopback } = options;
  const view = (stream: EventStream) => viewOf(stream, options.issuer);

  api.post('createStream', '/streams', {
    summary: 'Create the event stream',
    description:
      'An application has one. Without `delivery` it fetches its events. It gets the events in `events_requested` that there are, about ' +
      'the people who use it.',
    body: shape('NewEventStream', Type.Object(Settings), newExample),
    isBodyOptional: true,
    responses: created('The stream.', streamShape),
    kinds: ['conflict'],
    async handle({ ctx, by, body }) {
      const settings = settingsOf(body, allowsLoopback);
      // One of an earlier owner goes with the transfer.
      if ((await ownStream(by.application)) === undefined) await streams.removeOf(by.application.id);
      const stream = await streams.create(by, settings);
      ctx.set('location', `${PREFIX}/streams?stream_id=${stream.id}`);
      return view(stream);
    },
  });

  api.get('readStreams', '/streams', {
    summary: 'Read the event stream',
    description:
      'With `stream_id` the stream; without it a list with the stream of the application, if it has one.',
    scopes: [SSF_MANAGE, SSF_READ],
    query: Type.Object({ stream_id: Type.Optional(Id) }),
    responses: ok(
      'The stream, or a list.',
      shape('EventStreams', Type.Union([Stream, Type.Array(Stream)]), [example]),
    ),
    kinds: ['not_found'],
    async handle({ application, query: { stream_id: id } }) {
      if (id !== undefined) return view(await findStream(application, id));
      const stream = await ownStream(application);
      return stream === undefined ? [] : [view(stream)];
    },
  });

  const ofChange = {
    responses: ok('The stream.', streamShape),
    kinds: ['not_found'],
  } as const;
  api.patch('updateStream', '/streams', {
    summary: 'Update the event stream',
    description: 'Members that are not sent stay. An authorization header stays while the URL does.',
    body: shape('EventStreamChanges', Changes, { stream_id: example.stream_id, ...newExample }),
    ...ofChange,
    async handle({ by, body }) {
      const stream = await findStream(by.application, body.stream_id);
      requireSupplied(body, view(stream), options.issuer);
      const sent = settingsOf(body, allowsLoopback);
      const settings = {
        push:
          body.delivery === undefined && stream.push
            ? { ...stream.push, authorization: undefined }
            : sent.push,
        eventsRequested: body.events_requested ?? stream.eventsRequested,
        description: body.description ?? stream.description,
      };
      return view(
        await streams.configure(by, stream, settings, body.delivery?.authorization_header !== null),
      );
    },
  });

  api.put('replaceStream', '/streams', {
    summary: 'Replace the event stream',
    description: 'Members that are not sent are removed, such as the authorization header.',
    body: shape('EventStreamReplacement', Changes, { stream_id: example.stream_id, ...newExample }),
    ...ofChange,
    async handle({ by, body }) {
      const stream = await findStream(by.application, body.stream_id);
      requireSupplied(body, view(stream), options.issuer);
      return view(await streams.configure(by, stream, settingsOf(body, allowsLoopback), false));
    },
  });

  api.delete('deleteStream', '/streams', {
    summary: 'Delete the event stream',
    query: ofStream,
    responses: done('It is deleted, with the events that were not delivered.'),
    kinds: ['not_found'],
    handle: async ({ by, query }) => streams.remove(by, await findStream(by.application, query.stream_id)),
  });
}

function viewOf(
  { id, clientId, push, eventsRequested, description }: EventStream,
  issuer: string,
): Static<typeof Stream> {
  return {
    ...{ stream_id: id, iss: issuer, aud: clientId },
    delivery:
      push === undefined
        ? { method: POLL, endpoint_url: pollUrl(issuer, id) }
        : { method: PUSH, endpoint_url: push.url },
    events_supported: [...EVENTS_SUPPORTED],
    ...(eventsRequested.length > 0 && { events_requested: [...eventsRequested] }),
    events_delivered: EVENTS_SUPPORTED.filter((it) => eventsRequested.includes(it)),
    min_verification_interval: MIN_VERIFICATION_SECONDS,
    ...omitUndefined({ description }),
  };
}

const pollUrl = (issuer: string, streamId: string) => `${issuer}${PREFIX}/events/${streamId}`;

function pushOf(
  { delivery }: Pick<Static<typeof Changes>, 'delivery'>,
  allowsLoopback: boolean,
): SentSettings['push'] {
  if (delivery?.method !== PUSH) return undefined;
  const url = delivery.endpoint_url ?? '';
  const message = endpointProblem(url, allowsLoopback);
  if (message !== undefined) throw invalidFields([{ field: 'delivery.endpoint_url', message }]);
  return { url, authorization: delivery.authorization_header ?? undefined };
}

/** Of a stream that has none so far. */
function settingsOf(
  { events_requested = [], description, ...sent }: Omit<Static<typeof Changes>, 'stream_id'>,
  allowsLoopback: boolean,
): SentSettings {
  return { push: pushOf(sent, allowsLoopback), eventsRequested: events_requested, description };
}

/** §8.1.1.3: what the transmitter sets must be as it is, if it is sent. */
function requireSupplied(body: Static<typeof Changes>, now: Record<string, unknown>, issuer: string): void {
  const sent: Record<string, unknown> = body;
  const problems = Object.keys(Supplied)
    .filter(
      (field) => sent[field] !== undefined && JSON.stringify(sent[field]) !== JSON.stringify(now[field]),
    )
    .concat(isOtherPollUrl(body, issuer) ? ['delivery.endpoint_url'] : [])
    .map((field) => ({ field, message: 'must be as it is: the transmitter sets it' }));
  if (problems.length > 0) throw invalidFields(problems);
}

function isOtherPollUrl({ stream_id, delivery }: Static<typeof Changes>, issuer: string): boolean {
  const url = delivery?.endpoint_url ?? undefined;
  return delivery?.method === POLL && url !== undefined && url !== pollUrl(issuer, stream_id);
}

/** Why events cannot be sent to a URL, as the end of a sentence. */
function endpointProblem(text: string, allowsLoopback: boolean): string | undefined {
  const url = URL.parse(text);
  const problem = uriProblem(text, url);
  if (problem !== undefined || url?.protocol === 'https:') return problem;
  const isAllowed = url?.protocol === 'http:' && isLoopback(url) && allowsLoopback;
  return isAllowed ? undefined : 'must use https';
}
