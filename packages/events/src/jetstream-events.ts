import { unavailable } from '@gatehouse/kit/errors';
import type { OutboxEvent } from '@gatehouse/mongo/outbox';
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';
import { DUPLICATE_WINDOW_MS, ensureStream, prepareOnce } from './jetstream-streams.ts';
import { checkSubject, encode } from './listeners.ts';
import type { EventTransport } from './local-events.ts';

/** How long a new stream keeps events. */
const MAX_AGE_MS = 7 * 86_400_000;

/**
 * Publishes events to a stream of NATS JetStream. publish() resolves when the server has stored the event, and rejects with
 * `unavailable` otherwise. The stream is made when there is none; one that exists is left as the operator has configured
 * it, and must take the subjects. The data of a message is `{id, at, data}`, and its Nats-Msg-Id is the id of the event.
 *
 * @param options.connection the current connection, if there is one
 */
export function createJetStreamEvents(options: {
  connection: () => NatsConnection | undefined;
  stream: string;
  subjects: string[];
}): EventTransport {
  const { connection, stream, subjects } = options;
  const prepared = prepareOnce((js) =>
    ensureStream(js, {
      name: stream,
      subjects,
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.Old,
      max_age: nanos(MAX_AGE_MS),
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    }),
  );

  return {
    async publish({ id, subject, at, data }) {
      checkSubject(subject);
      const json = encode({ id, at, data } satisfies Omit<OutboxEvent, 'subject'>);
      const nats = connection();
      if (nats === undefined) throw unavailable('There is no connection to NATS at the moment.');
      try {
        const { client } = await prepared.open(nats);
        await client.publish(subject, json, { msgID: id });
      } catch (error) {
        prepared.forget(nats);
        throw unavailable('NATS does not store events at the moment.', error);
      }
    },
  };
}
