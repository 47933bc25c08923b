import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';

/** How long the server may take to answer. */
export const TIMEOUT_MS = 5000;

const STORED = {
  storage: StorageType.File,
  discard: DiscardPolicy.Old,
  /** Within this time, a message that is published again, because its acknowledgement was lost, is stored once. */
  duplicate_window: nanos(10 * 60_000),
};

/** How many servers of a cluster store each message, so that one of them may fail. */
const REPLICAS_IN_CLUSTER = 3;

export type JetStream = { nats: NatsConnection; manager: JetStreamManager };

/**
 * Returns a function that opens JetStream on a connection, and makes what is missing there: once for each connection, and
 * again after `forget`, because an operator may have deleted it.
 */
export function prepareOnce(prepare: (js: JetStream) => Promise<void>) {
  const prepared = new WeakMap<NatsConnection, Promise<JetStream>>();

  async function open(nats: NatsConnection): Promise<JetStream> {
    const manager = await jetstreamManager(nats, { timeout: TIMEOUT_MS, checkAPI: false });
    const js = { nats, manager };
    await prepare(js);
    return js;
  }

  return {
    open(nats: NatsConnection): Promise<JetStream> {
      const known = prepared.get(nats);
      if (known !== undefined) return known;
      const opening = open(nats);
      prepared.set(nats, opening);
      opening.catch(() => prepared.delete(nats));
      return opening;
    },
    forget: (nats: NatsConnection) => void prepared.delete(nats),
  };
}

/**
 * Makes the stream, with three replicas when the server is one of a cluster. One that exists is left as the operator has configured
 * it, and must take the subjects.
 */
export async function ensureStream(
  { nats, manager }: JetStream,
  config: Partial<StreamConfig> & { name: string; subjects: string[] },
): Promise<void> {
  const { name, subjects } = config;
  const existing = await missing(JetStreamApiCodes.StreamNotFound, manager.streams.info(name));
  if (existing === undefined) {
    const replicas = nats.info?.cluster === undefined ? {} : { num_replicas: REPLICAS_IN_CLUSTER };
    // Processes that do this at once make the same stream.
    await manager.streams.add({ ...STORED, ...config, ...replicas });
  } else if (!subjects.every((subject) => existing.config.subjects.includes(subject))) {
    throw new Error(`the stream ${name} of NATS does not take ${subjects.join(', ')}`);
  }
}

/**
 * Makes the durable consumer. One that exists is left as it is, and must have the same filter; unless the stream has lost its
 * last messages, because the machine failed before they were on its disk: a consumer that has seen them would take the next
 * ones, which get their numbers, for seen too. It is created again.
 */
export async function ensureConsumer(
  { manager }: JetStream,
  stream: string,
  config: Partial<ConsumerConfig> & { durable_name: string; filter_subject: string },
): Promise<void> {
  const { durable_name: name, filter_subject: filter } = config;
  const existing = await missing(JetStreamApiCodes.ConsumerNotFound, manager.consumers.info(stream, name));
  if (existing !== undefined) {
    if (existing.config.filter_subject !== filter) {
      throw new Error(`the consumer ${name} of the stream ${stream} of NATS does not take ${filter}`);
    }
    const { state } = await manager.streams.info(stream);
    if (existing.delivered.stream_seq <= state.last_seq) return;
    await manager.consumers.delete(stream, name);
  }
  const acknowledged = { ack_policy: AckPolicy.Explicit, deliver_policy: DeliverPolicy.All };
  await manager.consumers.add(stream, { ...acknowledged, ...config });
}

/** Undefined when the server says that there is none. */
async function missing<T>(code: number, found: Promise<T>): Promise<T | undefined> {
  return found.catch((error: unknown) => {
    if (error instanceof JetStreamApiError && error.code === code) return undefined;
    throw error;
  });
}
