import { unavailable } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { AckPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { type Msg, type NatsConnection, nanos } from '@nats-io/transport-node';
import { checkQueue, createJobQueue, DEFAULT_LEASE_MS, partsOf } from './create-job-queue.ts';
import { createJetStreamDeadLetters, deadLetterStream } from './jetstream-dead-letters.ts';
import { publishMessage } from './jetstream-publish.ts';
import { NoResponseError, nak, pullMessages } from './jetstream-pull.ts';
import {
  DUPLICATE_WINDOW_MS,
  ensureConsumer,
  ensureStream,
  type JetStream,
  nextMessage,
  prepareOnce,
} from './jetstream-streams.ts';
import { createStuckConsumers } from './jetstream-stuck-consumers.ts';
import { type Job, PRIORITIES, type Priority } from './job.ts';
import type { JobQueue, JobQueueOptions, JobQueues } from './job-queue.ts';
import type { Delivery, JobStore } from './job-store.ts';
import { jobSubject, parseJobSubject } from './job-subject.ts';
import { encode } from './listeners.ts';

/** Messages that may be worked on or wait for their next attempt at the same time, in one lane and priority. */
const MAX_ACK_PENDING = 1_000_000;
/** A pull that a server has lost, such as with the leader of a stream, is made again after this time. */
const WAIT_MS = 5000;

type Service = { connection: () => NatsConnection | undefined; name: string; logger: Logger };

/**
 * The queues of a service in NATS JetStream. A queue has a stream for each priority, `{SERVICE}_{QUEUE}_{PRIORITY}`, with a
 * durable pull consumer for each lane, and the service a stream `{SERVICE}_DEAD_LETTERS`. Missing ones are created when they are
 * needed; existing ones are left as the operator has configured them.
 *
 * @param service.connection the current connection, if there is one
 */
export function createJetStreamJobQueues(service: Service): JobQueues {
  return (options) => createJetStreamJobQueue(options, service);
}

function createJetStreamJobQueue(options: JobQueueOptions, service: Service): JobQueue {
  const { name, lanes, leaseMs = DEFAULT_LEASE_MS } = options;
  const { connection, logger } = service;
  checkQueue(options);
  const streamOf = (priority: Priority) => `${service.name}_${name}_${priority}`.toUpperCase();
  const subjectOf = (priority: Priority, lane: string) =>
    jobSubject(service.name, { queue: name, priority, lane });

  async function prepare(js: JetStream): Promise<void> {
    await ensureStream(js, deadLetterStream(service.name));
    for (const priority of PRIORITIES) {
      await ensureStream(js, {
        name: streamOf(priority),
        subjects: [subjectOf(priority, '*')],
        retention: RetentionPolicy.Workqueue,
        storage: StorageType.File,
        duplicate_window: nanos(DUPLICATE_WINDOW_MS),
      });
    }
    for (const { priority, lane } of partsOf(lanes)) {
      await ensureConsumer(js, streamOf(priority), {
        durable_name: lane,
        filter_subject: subjectOf(priority, lane),
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(leaseMs),
        max_deliver: -1,
        max_ack_pending: MAX_ACK_PENDING,
      });
    }
  }

  const prepared = prepareOnce(prepare);
  const stuck = createStuckConsumers(logger);

  /** Runs an action on the current connection; rejects with `unavailable`. */
  async function use<T>(action: (js: JetStream) => Promise<T>): Promise<T> {
    const nats = connection();
    if (nats === undefined) throw unavailable('There is no connection to NATS at the moment.');
    try {
      return await action(await prepared.open(nats));
    } catch (error) {
      prepared.forget(nats);
      throw unavailable('NATS does not keep jobs at the moment.', error);
    }
  }

  function deliveryOf(nats: NatsConnection, message: Msg): Delivery | undefined {
    const reply = message.reply ?? '';
    const job = decode(service.name, message);
    if (job === undefined) {
      logger.error({ subject: message.subject, bytes: message.data.length }, 'dropped an invalid job');
      nats.publish(reply, '+TERM');
      return undefined;
    }
    return {
      job,
      deliveries: deliveriesOf(reply),
      done: async () => nats.publish(reply, '+ACK'),
      retry: async (afterMs) => nak(nats, reply, afterMs),
      working() {
        if (!nats.isClosed()) nats.publish(reply, '+WPI');
      },
    };
  }

  const dead = createJetStreamDeadLetters({ use, service: service.name, queue: name });
  const store: JobStore = {
    leaseMs,
    waitMs: WAIT_MS,
    async put({ id, at, data, priority, lane, traceparent }, key) {
      const json = encode({ id, at, data });
      const message = { subject: subjectOf(priority, lane), json, id: key, traceparent };
      await use(({ nats }) => publishMessage(nats, message));
    },
    async pull({ lane, priority, ...request }) {
      const stream = streamOf(priority);
      const hasWaited = () => request.waitMs > 0 && !request.signal.aborted;
      return use(async (js) => {
        try {
          const messages = await pullMessages(js.nats, stream, lane, request);
          if (messages.length > 0) stuck.delivers(stream, lane);
          else if (hasWaited() && (await stuck.removeIfStuck(js, stream, lane))) prepared.forget(js.nats);
          return messages.flatMap((message) => deliveryOf(js.nats, message) ?? []);
        } catch (error) {
          if (error instanceof NoResponseError) await stuck.removeIfStuck(js, stream, lane);
          throw error;
        }
      });
    },
    async depth() {
      return use(async (js) => {
        const { consumers } = js.manager;
        const counts = await dead.counts(js, lanes);
        return Promise.all(
          partsOf(lanes).map(async ({ lane, priority }) => {
            const stream = streamOf(priority);
            const info = await consumers.info(stream, lane);
            const { num_pending: waiting, num_ack_pending: inFlight, ack_floor: ended } = info;
            const subject = subjectOf(priority, lane);
            const first =
              waiting + inFlight === 0 ? null : await nextMessage(js, stream, ended.stream_seq + 1, subject);
            return {
              lane,
              priority,
              waiting,
              inFlight,
              oldestMs: first === null ? 0 : Math.max(0, Date.now() - first.time.getTime()),
              deadLetters: counts(lane, priority),
            };
          }),
        );
      });
    },
    dead,
  };
  return createJobQueue({ ...options, service: service.name, store, logger });
}

/** `$JS.ACK.{stream}.{consumer}.{deliveries}.…`; with a domain and a hash of the account before the stream in some servers. */
function deliveriesOf(reply: string): number {
  const words = reply.split('.');
  return Number(words[words.length > 9 ? 6 : 4]) || 1;
}

function decode(service: string, message: Msg): Job | undefined {
  const address = parseJobSubject(service, message.subject);
  if (address === undefined) return undefined;
  try {
    const { id, at, data } = message.json<{ id: string; at: string; data: Record<string, unknown> }>();
    const traceparent = message.headers?.get('traceparent');
    if (typeof id !== 'string') return undefined;
    return { id, at: new Date(at), data, ...address, ...(traceparent && { traceparent }) };
  } catch {
    return undefined;
  }
}
