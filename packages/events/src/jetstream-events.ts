import { unavailable } from '@gatehouse/kit/errors';
import type { OutboxEvent } from '@gatehouse/mongo/outbox';
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';
import { checkSubject, encode } from './listeners.ts';
import type { EventTransport } from './local-events.ts';

const TIMEOUT_MS = 5000;
/** How long a new stream keeps events. */
const MAX_AGE_MS = 7 * 86_400_000;
/** Within this time an event that is published again, because its acknowledgement was lost, is stored once. */
const DUPLICATE_WINDOW_MS = 10 * 60_000;

/**
 * Publishes events to a stream of NATS JetStream. publish() resolves when the server has stored the event, and rejects with
 * `unavailable` otherwise. The stream is made with the first event that is published over a connection; one that exists is
 * left as the operator has configured it, and must take the subjects. The data of a message is `{id, at, data}`, and its
 * Nats-Msg-Id is the id of the event.
 *
 * @param options.connection the current connection, if there is one
 */
export function createJetStreamEvents(options: {
  connection: () => NatsConnection | undefined;
  stream: string;
  subjects: string[];
}): EventTransport {
  const { connection, stream, subjects } = options;
  const prepared = new WeakMap<NatsConnection, Promise<void>>();

  function prepare(nats: NatsConnection): Promise<void> {
    const known = prepared.get(nats);
    if (known !== undefined) return known;
    const preparing = prepareStream(nats);
    prepared.set(nats, preparing);
    preparing.catch(() => prepared.delete(nats));
    return preparing;
  }

  async function prepareStream(nats: NatsConnection): Promise<void> {
    const { streams } = await jetstreamManager(nats, { timeout: TIMEOUT_MS, checkAPI: false });
    const existing = await streams.info(stream).catch((error: unknown) => {
      const isMissing = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
      if (!isMissing) throw error;
    });
    if (existing === undefined) {
      // Replicas that do this at once make the same stream.
      await streams.add({
        name: stream,
        subjects,
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        discard: DiscardPolicy.Old,
        max_age: nanos(MAX_AGE_MS),
        duplicate_window: nanos(DUPLICATE_WINDOW_MS),
      });
    } else if (!subjects.every((subject) => existing.config.subjects.includes(subject))) {
      throw new Error(`the stream ${stream} of NATS does not take ${subjects.join(', ')}`);
    }
  }

  return {
    async publish({ id, subject, at, data }) {
      checkSubject(subject);
      const json = encode({ id, at, data } satisfies Omit<OutboxEvent, 'subject'>);
      const nats = connection();
      if (nats === undefined) throw unavailable('There is no connection to NATS at the moment.');
      try {
        await prepare(nats);
        await jetstream(nats, { timeout: TIMEOUT_MS }).publish(subject, json, { msgID: id });
      } catch (error) {
        throw unavailable('NATS does not store events at the moment.', error);
      }
    },
  };
}
