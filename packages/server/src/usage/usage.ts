import { newId } from '@gatehouse/core/ids';
import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { CompletedRequest } from '../completed-request.ts';
import { createRequestRecorder } from './request-recorder.ts';
import type { UsageBatch, UsageCounter } from './usage-batch.ts';
import { createUsageRecorder } from './usage-recorder.ts';

/**
 * How often batches are sent, in milliseconds, and how often at least when there is nothing to send, so that the receiver knows that
 * nothing is missing.
 */
const SEND_EVERY_MS = 5000;
const SEND_AT_LEAST_EVERY_MS = 10_000;
/** How often the first batch is sent until the receiver knows this process, and waits for it. */
const ANNOUNCE_EVERY_MS = 500;

export type Usage = {
  observe(request: CompletedRequest): void;
  count(counter: UsageCounter, client: string | undefined, method?: string): void;
  start(): void;
  /** Sends what is left, once. */
  flush(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Counts the usage of a service in this process, and sends it in batches, with some of the requests for the log. One that cannot be sent is sent again, with the
 * same id, until it is taken; meanwhile counting goes on in memory, of which there is a limit.
 *
 * @param options.send resolves when the batch is durably stored, and rejects to be called with it again
 */
export function createUsage(options: {
  service: string;
  send(batch: UsageBatch): Promise<void>;
  logger: Logger;
  everyMs?: number;
  /**
   * Whether the process sends at its start. Then a receiver elsewhere knows that this process counts, too, and that the `until` of the
   * others does not cover it.
   */
  isAnnounced?: boolean;
  now?: () => number;
}): Usage {
  const { service, send, logger, everyMs = SEND_EVERY_MS, isAnnounced = false, now = Date.now } = options;
  const recorder = createUsageRecorder({ now });
  const requests = createRequestRecorder();
  const sender = newId('prc');
  const atLeastEveryMs = Math.max(everyMs, SEND_AT_LEAST_EVERY_MS);
  /** Not acknowledged yet: perhaps it has arrived, so it stays as it is. */
  let pending: UsageBatch | undefined;
  let sentAt = Number.NEGATIVE_INFINITY;
  let failing = false;

  async function sendPending(batch: UsageBatch): Promise<void> {
    try {
      await send(batch);
    } catch (error) {
      // At the start the way to the receiver may not be open yet.
      if (!failing && sentAt !== Number.NEGATIVE_INFINITY)
        logger.warn({ err: error }, 'usage cannot be sent; it is kept and sent again');
      failing = sentAt !== Number.NEGATIVE_INFINITY;
      throw error;
    }
    if (failing) logger.info('usage can be sent again');
    failing = false;
    pending = undefined;
    sentAt = now();
    if (batch.dropped > 0) logger.error({ dropped: batch.dropped }, 'counts of requests were dropped');
  }

  /** Rejects with what send() rejects with. */
  async function sendAll(final: boolean): Promise<void> {
    if (pending !== undefined) await sendPending(pending);
    for (let isAll = false; !isAll; ) {
      const until = new Date(now()).toISOString();
      const { isAll: isLast, ...taken } = recorder.take();
      const { log, isAll: isLastOfLog } = requests.take();
      isAll = isLast && isLastOfLog;
      const counted = taken.requests.length + taken.counters.length + taken.keys.length + taken.dropped;
      const isEmpty = counted + log.length === 0;
      if (isEmpty && !final && now() - sentAt < atLeastEveryMs) return;
      pending = {
        id: newId('bat'),
        service,
        sender,
        until: isAll ? until : null,
        final: final && isAll,
        ...taken,
        log,
      };
      await sendPending(pending);
    }
  }

  const sending = createPeriodicTask({
    run: () => sendAll(false),
    // Jitter, so that processes that were started together do not send together.
    everyMs: () =>
      isAnnounced && sentAt === Number.NEGATIVE_INFINITY
        ? Math.min(everyMs, ANNOUNCE_EVERY_MS)
        : everyMs * (0.9 + Math.random() / 5),
    immediately: isAnnounced,
    // Logged when it begins.
    onError: () => {},
  });

  return {
    observe(request) {
      if (recorder.observe(request)) requests.observe(request);
    },
    count: recorder.count,
    start: sending.start,
    async flush() {
      await sending.stop();
      // Counts that cannot be sent now are lost, which is logged.
      await sendAll(true).catch(() => {});
    },
    stop: sending.stop,
  };
}
