import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { continueTrace, during } from '@gatehouse/core/tracing';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { type JsMsg, jetstream, RetentionPolicy } from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';
import {
  ensureConsumer,
  ensureStream,
  type JetStream,
  prepareOnce,
  TIMEOUT_MS,
} from './jetstream-streams.ts';
import { backoff } from './run-attempt.ts';

const PULL = { max_messages: 50, expires: 5000 };
/** One message at a time. The message of a process that was killed comes again soon, since the others wait for it. */
const IN_ORDER = { max_ack_pending: 1, ack_wait: nanos(10_000) };
/** The pause before a message that failed is delivered again. */
const RETRY_MS = 2000;
/** How often a consumer that brings nothing is checked for being stuck. */
const LOOK_MS = 10_000;
/** The pause after a failure to read events: perhaps the stream does not exist yet. */
const REOPEN_MS = { first: 2000, max: 8000 };

export type StreamConsumerOptions = {
  /** The current connection, if there is one. */
  connection: () => NatsConnection | undefined;
  /**
   * A stream of our own account, which is made unless it exists, and from which handled events are removed: with `inOrder` one
   * after the other, by whichever process, so that an event is handled when those before it have been; or a stream of another
   * account, which is made there with the consumer and exports its JetStream API for that to our account as
   * `JS.{account}.API` (see deploy/docker/nats.conf).
   */
  stream:
    | { name: string; subject: string; maxAgeMs: number; inOrder?: boolean }
    | { name: string; account: string };
  /** The name of the durable consumer: processes that share it share the messages. */
  durable: string;
  /** Resolves when the event is durably handled; rejects to get it again. May get the same event twice. */
  handle(event: OutboxEvent): Promise<void>;
  logger: Logger;
};

/**
 * Handles the events of a stream of NATS JetStream, at least once: a message is acknowledged after it has been handled, and
 * one that cannot be is delivered again, for as long as the stream keeps it. It waits for NATS, and for the stream, for as
 * long as it takes.
 */
export function createStreamConsumer(options: StreamConsumerOptions): {
  start(): void;
  stop(): Promise<void>;
} {
  const { connection, stream, durable, handle, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;
  /** Failed attempts to read in a row. */
  let failures = 0;

  const prepared = prepareOnce((js) => ensureOwnConsumer(js, options));
  let lookedAt = Number.NEGATIVE_INFINITY;
  let isSuspected = false;

  /**
   * Removes the consumer if it has messages and delivers none, to be created again: then it delivers all that is in the stream. To be
   * called after a request that brought nothing. A server before 2.10.25 that was killed may take messages that are gone for
   * unacknowledged, and while it tries to deliver them, it delivers no others (https://github.com/nats-io/nats-server/pull/6387).
   * Messages stay in the stream of another account, which does not get stuck.
   */
  async function removeIfStuck(nats: NatsConnection): Promise<boolean> {
    const now = performance.now();
    if ('account' in stream || signal.aborted || (!isSuspected && now - lookedAt < LOOK_MS)) return false;
    lookedAt = now;
    const { consumers } = (await prepared.open(nats)).manager;
    const { num_pending, num_ack_pending, config } = await consumers.info(stream.name, durable);
    const { max_ack_pending: max = 0 } = config;
    // A consumer that gives out one message at a time is always full when it is stuck.
    const isFull = max > 1 && num_ack_pending >= max;
    const isIdle = num_pending === 0 || isFull;
    // A message may have come between the request and this one; hardly twice in a row.
    isSuspected = !isIdle && !isSuspected;
    if (isIdle || isSuspected) return false;
    logger.warn(
      { stream: stream.name, waiting: num_pending },
      'a consumer of NATS was stuck, and is created again',
    );
    return consumers.delete(stream.name, durable);
  }

  async function handleMessage(message: JsMsg): Promise<void> {
    try {
      const { subject } = message;
      const { id, at, data } = message.json<Omit<OutboxEvent, 'subject'>>();
      const span = continueTrace(message.headers?.get('traceparent'), `process ${subject}`, {
        kind: 'consumer',
        attributes: { 'messaging.destination.name': subject, 'messaging.message.id': id },
      });
      await during(span, () => handle({ id, subject, at: new Date(at), data }));
      message.ack();
    } catch (error) {
      logger.warn({ err: error, subject: message.subject }, 'an event could not be handled; trying again');
      message.nak(RETRY_MS);
    }
  }

  async function consume(nats: NatsConnection): Promise<void> {
    await prepared.open(nats);
    const foreign = 'account' in stream ? { apiPrefix: `JS.${stream.account}.API` } : {};
    const { consumers } = jetstream(nats, { timeout: TIMEOUT_MS, ...foreign });
    const consumer = await consumers.get(stream.name, durable);
    while (!signal.aborted && !nats.isClosed()) {
      const messages = await consumer.fetch(PULL);
      const stop = () => void messages.close();
      signal.addEventListener('abort', stop);
      const handled: Promise<void>[] = [];
      for await (const message of messages) handled.push(handleMessage(message));
      signal.removeEventListener('abort', stop);
      await Promise.all(handled);
      if (failures > 0) logger.info({ stream: stream.name }, 'events of NATS can be read again');
      failures = 0;
      if (handled.length > 0) isSuspected = false;
      else if (await removeIfStuck(nats)) return prepared.forget(nats);
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const nats = connection();
      try {
        if (nats !== undefined) await consume(nats);
      } catch (error) {
        if (nats !== undefined) prepared.forget(nats);
        if (failures === 0 && !signal.aborted) {
          logger.warn({ err: error, stream: stream.name }, 'events of NATS cannot be read; trying again');
        }
        failures += 1;
      }
      const pause = backoff(Math.max(1, failures), REOPEN_MS);
      await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Makes the stream and its consumer, unless it is a stream of another account. */
async function ensureOwnConsumer(js: JetStream, { stream, durable }: StreamConsumerOptions): Promise<void> {
  if ('account' in stream) return;
  const { name, subject, maxAgeMs, inOrder = false } = stream;
  await ensureStream(js, {
    name,
    subjects: [subject],
    retention: RetentionPolicy.Workqueue,
    max_age: nanos(maxAgeMs),
  });
  await ensureConsumer(js, name, {
    durable_name: durable,
    filter_subject: subject,
    ...(inOrder ? IN_ORDER : {}),
  });
  // Also for a consumer that exists.
  if (inOrder) await js.manager.consumers.update(name, durable, IN_ORDER);
}
