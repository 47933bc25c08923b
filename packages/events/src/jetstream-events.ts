import { unavailable } from '@gatehouse/kit/errors';
import type { OutboxEvent } from '@gatehouse/mongo/outbox';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { JETSTREAM_TIMEOUT_MS, prepareStream, type StreamOptions } from './jetstream-stream.ts';
import { checkSubject, encode } from './listeners.ts';
import type { EventTransport } from './local-events.ts';

/** How long a new stream keeps events. */
const MAX_AGE_MS = 7 * 86_400_000;

/**
 * Publishes events to a stream of NATS JetStream. publish() resolves when the server has stored the event, and rejects with
 * `unavailable` otherwise. The stream is made with the first event that is published over a connection; one that exists is
 * left as the operator has configured it, and must take the subjects. The data of a message is `{id, at, data}`, and its
 * Nats-Msg-Id is the id of the event.
 *
 * @param options.connection the current connection, if there is one
 * @param options.stream without it, the subjects belong to a stream that another service makes
 */
export function createJetStreamEvents(options: {
  connection: () => NatsConnection | undefined;
  stream?: Omit<StreamOptions, 'maxAgeMs'>;
}): EventTransport {
  const { connection, stream } = options;
  const prepared = new WeakMap<NatsConnection, Promise<void>>();

  async function prepare(nats: NatsConnection): Promise<void> {
    if (stream === undefined) return;
    const known = prepared.get(nats);
    if (known !== undefined) return known;
    const preparing = prepareStream(nats, { ...stream, maxAgeMs: MAX_AGE_MS });
    prepared.set(nats, preparing);
    preparing.catch(() => prepared.delete(nats));
    return preparing;
  }

  return {
    async publish({ id, subject, at, data }) {
      checkSubject(subject);
      const json = encode({ id, at, data } satisfies Omit<OutboxEvent, 'subject'>);
      const nats = connection();
      if (nats === undefined) throw unavailable('There is no connection to NATS at the moment.');
      try {
        await prepare(nats);
        await jetstream(nats, { timeout: JETSTREAM_TIMEOUT_MS }).publish(subject, json, { msgID: id });
      } catch (error) {
        throw unavailable('NATS does not store events at the moment.', error);
      }
    },
  };
}
