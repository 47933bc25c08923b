import {
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
};

/** Makes the stream unless it exists. Throws when it does not take the subjects. */
export async function prepareStream(nats: NatsConnection, options: StreamOptions): Promise<void> {
  const { name, subjects, maxAgeMs, isWorkQueue = false } = options;
  const { streams } = await jetstreamManager(nats, { timeout: JETSTREAM_TIMEOUT_MS, checkAPI: false });
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
}
