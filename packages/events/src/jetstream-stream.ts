import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';

/** For a request to JetStream, in milliseconds. */
export const JETSTREAM_TIMEOUT_MS = 5000;
/** Within this time a message that is published again, because its acknowledgement was lost, is stored once. */
const DUPLICATE_WINDOW_MS = 10 * 60_000;

/** A stream that is made unless it exists; then it is left as the operator has configured it. */
export type StreamOptions = {
  name: string;
  subjects: string[];
  /** How long messages are kept. */
  maxAgeMs: number;
  /** Whether a message is removed once it has been acknowledged. */
  isWorkQueue?: boolean;
  /** The durable consumers of the stream: its maker makes them, also those that others pull from. */
  consumers?: readonly DurableConsumer[];
};

/** Gets all messages of the stream, or of the subjects that the filter matches. */
export type DurableConsumer = { name: string; filter?: string };

/** How long a message may be handled before it is delivered again. */
const ACK_WAIT_MS = 30_000;

/** Makes the stream and its consumers unless they exist. Throws when it does not take the subjects. */
export async function prepareStream(nats: NatsConnection, options: StreamOptions): Promise<void> {
  const { name, subjects, maxAgeMs, isWorkQueue = false, consumers = [] } = options;
  const { streams, consumers: manager } = await jetstreamManager(nats, {
    timeout: JETSTREAM_TIMEOUT_MS,
    checkAPI: false,
  });
  const existing = await streams.info(name).catch((error: unknown) => {
    const isMissing = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
    if (!isMissing) throw error;
  });
  if (existing === undefined) {
    // Replicas that do this at once make the same stream.
    await streams.add({
      name,
      subjects,
      retention: isWorkQueue ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.Old,
      max_age: nanos(maxAgeMs),
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    });
  } else if (!subjects.every((subject) => existing.config.subjects.includes(subject))) {
    throw new Error(`the stream ${name} of NATS does not take ${subjects.join(', ')}`);
  }
  for (const consumer of consumers) {
    await manager.add(name, {
      durable_name: consumer.name,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: nanos(ACK_WAIT_MS),
      ...(consumer.filter === undefined ? {} : { filter_subject: consumer.filter }),
    });
  }
}
