import { unavailable } from '@gatehouse/core/errors';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { RetentionPolicy } from '@nats-io/jetstream';
import { headers, type NatsConnection, nanos } from '@nats-io/transport-node';
import { ensureConsumer, ensureStream, prepareOnce, TIMEOUT_MS } from './jetstream-streams.ts';
import { checkSubject, encode } from './listeners.ts';
import type { EventTransport } from './local-events.ts';

/** How long a new stream keeps events. */
const MAX_AGE_MS = 7 * 86_400_000;

/**
 * Publishes events to a stream of NATS JetStream. publish() resolves when the server has stored the event, and rejects with
 * `unavailable` otherwise. The stream is made when there is none; one that exists is left as the operator has configured
 * it, and must take the subjects. The data of a message is `{id, at, data}`, its Nats-Msg-Id is the id of the event, and its
 * `traceparent` that of the trace, if there is one.
 *
 * @param options.connection the current connection, if there is one
 * @param options.stream its durable consumers, from which the account permits others to pull; without it, the subjects belong to a stream that another service makes
 */
export function createJetStreamEvents(options: {
  connection: () => NatsConnection | undefined;
  stream?: { name: string; subjects: string[]; consumers?: readonly { name: string; filter: string }[] };
}): EventTransport {
  const { connection, stream } = options;
  const prepared = prepareOnce(async (js) => {
    if (stream === undefined) return;
    await ensureStream(js, {
      name: stream.name,
      subjects: stream.subjects,
      retention: RetentionPolicy.Limits,
      max_age: nanos(MAX_AGE_MS),
    });
    for (const { name, filter } of stream.consumers ?? []) {
      await ensureConsumer(js, stream.name, {
        durable_name: name,
        filter_subject: filter,
      });
    }
  });

  return {
    async publish({ id, subject, at, data, traceparent }) {
      checkSubject(subject);
      const json = encode({ id, at, data } satisfies Omit<OutboxEvent, 'subject'>);
      const nats = connection();
      if (nats === undefined) throw unavailable('There is no connection to NATS at the moment.');
      try {
        await prepared.open(nats);
        const described = headers();
        described.set('Nats-Msg-Id', id);
        if (traceparent !== undefined) described.set('traceparent', traceparent);
        const response = await nats.request(subject, json, { headers: described, timeout: TIMEOUT_MS });
        // https://docs.nats.io/reference/reference-protocols/nats_api_reference#publishing-to-a-stream
        const { stream: by, error } = response.json<{ stream?: string; error?: { description: string } }>();
        if (by === undefined || error !== undefined) {
          throw new Error(`NATS says: ${error?.description ?? 'no stream'}`);
        }
      } catch (error) {
        prepared.forget(nats);
        throw unavailable('NATS does not store events at the moment.', error);
      }
    },
  };
}
