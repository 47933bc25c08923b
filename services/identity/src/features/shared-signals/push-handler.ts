import type { Logger } from '@gatehouse/core/logger';
import type { Sealer } from '@gatehouse/core/sealing';
import { type JobHandler, PermanentError, PostponedError } from '@gatehouse/events/job';
import type { Outbound } from '@gatehouse/outbound/outbound';
import type { EventDocument, EventQueue } from './event-queue.ts';
import type { EventStreamStore } from './event-stream-store.ts';
import type { createEventTokens } from './event-token.ts';
import { STREAM_UPDATED } from './event-types.ts';
import type { createStreamPauses } from './stream-pauses.ts';
import type { StreamRight } from './stream-right.ts';

/** How long the pauses of the queue grow, and for how many attempts: for as long as an event is kept. */
export const BACKOFF_MS = { first: 1000, max: 900_000 };
export const MAX_ATTEMPTS = 300;
/** How soon it is tried again whether a stream may be sent to. */
const HELD_MS = 60_000;
const PAUSED = 'The stream is paused.';
/** The pause before an event is tried again that waits for an earlier one. */
const ORDER_MS = 200;
/** RFC 8935 §2.4 and Shared Signals 1.0 §8.1.4.1: errors of the SET itself, which comes no better another time. */
const FINAL = new Set([
  ...['invalid_request', 'invalid_key', 'invalid_issuer', 'invalid_audience'],
  'invalid_state',
]);

/** Sends an event to its receiver (RFC 8935 §2). */
export function createPushHandler(options: {
  streams: Pick<EventStreamStore, 'find'>;
  events: Pick<EventQueue, 'hasEarlier'>;
  notePause: ReturnType<typeof createStreamPauses>;
  right: Pick<StreamRight, 'holds'>;
  tokenOf: ReturnType<typeof createEventTokens>;
  sealer: Sealer;
  outbound: Pick<Outbound, 'read'>;
  logger: Logger;
}): JobHandler<EventDocument> {
  const { streams, events, notePause, right, tokenOf, sealer, outbound, logger } = options;
  return async ({ attempt, document }, { signal }) => {
    const stream = await streams.find(document.stream_id);
    if (stream?.push === undefined) return;
    if (stream.status !== 'enabled') throw new PostponedError(PAUSED, HELD_MS);
    // That the stream is paused is about no person, and its receiver learns of it.
    if (document.type !== STREAM_UPDATED) {
      const isPaused = !(await right.holds(stream));
      await notePause(stream, isPaused);
      if (isPaused) throw new PostponedError(PAUSED, HELD_MS);
    }
    if (await events.hasEarlier(document))
      throw new PostponedError('An earlier event about the person is sent first.', ORDER_MS);
    const { url, authorization } = stream.push;
    const { status, body } = await outbound.read(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/secevent+jwt',
        accept: 'application/json',
        ...(authorization === undefined ? {} : { authorization: sealer.open(authorization, stream.id) }),
      },
      body: await tokenOf(document, stream.clientId),
      signal,
    });
    if (status >= 200 && status < 300) return;
    const message = `The receiver responded with the status ${status}.`;
    const isFinal = status === 400 && FINAL.has(errorOf(body));
    if (!isFinal && attempt < MAX_ATTEMPTS) throw new Error(message);
    logger.warn({ client: stream.clientId, status, attempt }, 'a security event was not accepted');
    // Nobody could do anything about a dead letter.
    throw new PermanentError(message);
  };
}

function errorOf(body: Buffer): string {
  try {
    return String((JSON.parse(body.toString('utf8')) as { err?: unknown } | null)?.err);
  } catch {
    return '';
  }
}
