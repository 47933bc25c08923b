import { invalidFields } from '@gatehouse/api/http/schema';
import { done, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { SSF_MANAGE, SSF_READ } from '@gatehouse/tokens/scopes';
import { type Static, Type } from 'typebox';
import type { AccountCache } from '../../core/accounts/account-cache.ts';
import type { Application } from '../../core/applications/application.ts';
import type { createEventPolls } from './event-polls.ts';
import type { EventQueue } from './event-queue.ts';
import { type EventStream, MIN_VERIFICATION_SECONDS } from './event-stream.ts';
import type { EventStreamStore } from './event-stream-store.ts';
import type { EventStreams } from './event-streams.ts';
import { VERIFICATION } from './event-types.ts';
import type { StreamApi } from './stream-api.ts';
import { PAUSE_REASON } from './stream-pauses.ts';
import type { StreamRight } from './stream-right.ts';
import {
  example,
  Id,
  ofStream,
  polledShape,
  pollShape,
  type Subject,
  statusShape,
  subjectShape,
} from './stream-shapes.ts';

/** Verifications that may wait for a receiver which requests them more often than the stream says. */
const MAX_VERIFICATIONS = 100;

/** The status, verification and subjects of streams (Shared Signals 1.0 §8.1.2 to §8.1.4), and polls. Errors are thrown. */
export function addDeliveryRoutes(
  { api, findStream }: StreamApi,
  options: {
    issuer: string;
    streams: EventStreams;
    store: Pick<EventStreamStore, 'setRemoved'>;
    events: Pick<EventQueue, 'add' | 'newestOfType'>;
    right: Pick<StreamRight, 'holds'>;
    polls: Pick<ReturnType<typeof createEventPolls>, 'poll'>;
    accountCache: Pick<AccountCache, 'find'>;
  },
): void {
  const { issuer, streams, store, events, right, polls } = options;
  const statusOf = async (stream: EventStream) => {
    const { id: stream_id, status, reason } = stream;
    // A poll needs a credential that holds.
    if (status !== 'enabled' || stream.push === undefined || (await right.holds(stream)))
      return omitUndefined({ stream_id, status, reason });
    return { stream_id, status: 'paused', reason: PAUSE_REASON };
  };

  api.get('readStatus', '/status', {
    summary: 'Read the status of the event stream',
    scopes: [SSF_MANAGE, SSF_READ],
    query: ofStream,
    responses: ok('The status.', statusShape),
    kinds: ['not_found'],
    handle: async ({ application, query }) => statusOf(await findStream(application, query.stream_id)),
  });

  api.post('setStatus', '/status', {
    summary: 'Set the status of the event stream',
    description:
      'While it is `paused`, events are held for three days. While it is `disabled`, there are none.',
    body: statusShape,
    responses: ok('The status.', statusShape),
    kinds: ['not_found'],
    async handle({ by, body: { stream_id: id, status, reason } }) {
      return statusOf(await streams.setStatus(by, await findStream(by.application, id), status, reason));
    },
  });

  api.post('verifyStream', '/verify', {
    summary: 'Ask for a verification event',
    description: 'The event has the `state`. It shows that events arrive.',
    body: shape(
      'EventStreamVerification',
      Type.Object({ stream_id: Id, state: Type.Optional(Type.String({ maxLength: 1000 })) }),
      { stream_id: example.stream_id, state: 'VGhpcyBpcyBhbiBleGFtcGxl' },
    ),
    responses: done('The event is on its way.'),
    kinds: ['not_found', 'rate_limited'],
    async handle({ application, body: { stream_id: id, state } }) {
      const stream = await findStream(application, id);
      if (stream.status === 'disabled')
        throw invalidFields([
          { field: 'stream_id', message: 'is that of a disabled stream: enable it first' },
        ]);
      const waiting = await events.newestOfType(id, VERIFICATION, MAX_VERIFICATIONS);
      const nextAt = (waiting[0]?.created_at.getTime() ?? 0) + MIN_VERIFICATION_SECONDS * 1000;
      const seconds = Math.ceil((nextAt - Date.now()) / 1000);
      if (waiting.length === MAX_VERIFICATIONS && seconds > 0)
        throw new ServiceError('rate_limited', 'Too many verification events wait for their receiver.', {
          headers: { 'retry-after': String(seconds) },
        });
      const event = {
        cause: newId('ver'),
        accountId: null,
        type: VERIFICATION,
        payload: omitUndefined({ state }),
      };
      await events.add([{ stream, ...event }]);
    },
  });

  /** The response is the same whether the person exists or not (§9.1). */
  async function setRemoved(application: Application, body: Static<typeof Subject>, isRemoved: boolean) {
    const { clientId } = await findStream(application, body.stream_id);
    const { format, iss, sub } = body.subject;
    if (format !== 'iss_sub') return;
    // RFC 9493 §3.2.3.
    if (iss === undefined || sub === undefined)
      throw invalidFields([{ field: 'subject', message: 'must have iss and sub: its format is iss_sub' }]);
    if (iss === issuer && (await options.accountCache.find(sub)) !== undefined)
      await store.setRemoved(clientId, sub, isRemoved);
  }
  api.post('addSubject', '/subjects/add', {
    summary: 'Add a person to the event stream',
    description: 'All people who use the application are in it, so this takes back a removal.',
    body: subjectShape,
    responses: { 200: { description: 'The person is in the stream, if they use the application.' } },
    kinds: ['not_found'],
    async handle({ ctx, application, body }) {
      await setRemoved(application, body, false);
      ctx.body = '';
      ctx.remove('content-type');
    },
  });
  api.post('removeSubject', '/subjects/remove', {
    summary: 'Remove a person from the event stream',
    body: subjectShape,
    responses: done('The stream has no more events about the person.'),
    kinds: ['not_found'],
    handle: ({ application, body }) => setRemoved(application, body, true),
  });

  api.post('poll', '/events/:id', {
    summary: 'Fetch events',
    description:
      'By RFC 8936. Unless `returnImmediately` is true, the response waits up to 25 seconds for an event. Acknowledge events in `ack`, or in ' +
      '`setErrs` if you do not accept them; others come again.',
    scopes: [SSF_MANAGE, SSF_READ],
    body: pollShape,
    isBodyOptional: true,
    responses: ok('The events, by their `jti`.', polledShape),
    async handle({ ctx, application, holds, params, body }) {
      const stream = await findStream(application, params.id);
      if (stream.push !== undefined)
        throw new ServiceError('not_found', 'The events of this stream are sent, and not fetched.');
      return polls.poll(stream, omitUndefined(body), ctx.res, holds);
    },
  });
}
