import { setTimeout as sleep } from 'node:timers/promises';
import { continueTrace, during } from '@gatehouse/core/tracing';
import type { JobDocument } from '@gatehouse/data/job-document';
import {
  type Job,
  type JobHandler,
  type Outcome,
  PermanentError,
  PostponedError,
  RetryLaterError,
} from './job.ts';

/** The pauses before the database is asked again. */
export const RETRY_MS = { first: 100, max: 5000 };
/** The longest error message that is kept. */
const MAX_ERROR_LENGTH = 500;

/**
 * Runs the handler for one attempt. Resolves to how it has ended, and what the handler noted. Never rejects.
 *
 * @param abortable gets a function that ends the attempt
 */
export async function runAttempt<D extends JobDocument, R>(
  job: Job<D>,
  options: {
    handler: JobHandler<D, R>;
    timeoutMs: number;
    maxAttempts: number;
    backoffMs: { first: number; max: number };
    /** Aborted when the attempts under way must end. */
    shutdown: AbortSignal;
  },
  abortable: (abort: (reason: Error) => void) => void,
): Promise<{ outcome: Outcome; result: R | undefined }> {
  const { handler, timeoutMs, maxAttempts, backoffMs, shutdown } = options;
  const { attempt, queue, priority, lane } = job;
  let result: R | undefined;
  const ended = (outcome: Outcome) => ({ outcome, result });
  const stopped = () => ended({ result: 'postponed', error: 'The worker has stopped.', retryInMs: 0 });
  const dead = (error: string) => ended({ result: 'dead', error, attempts: Math.min(attempt, maxAttempts) });
  if (attempt > maxAttempts) return dead('The process ended during the last attempt.');
  if (shutdown.aborted) return stopped();
  const controller = new AbortController();
  const { signal } = controller;
  const handled = Promise.withResolvers<unknown>();
  const abort = (reason: Error) => {
    controller.abort(reason);
    // A handler that ignores the signal goes on without anybody waiting for it.
    handled.reject(reason);
  };
  abortable(abort);
  const timer = setTimeout(
    () => abort(new Error(`The attempt took longer than ${timeoutMs} ms.`)),
    timeoutMs,
  );
  const note = (noted: R) => {
    result = noted;
  };
  try {
    const span = continueTrace(job.traceparent, `process ${queue}.${priority}.${lane}`, {
      kind: 'consumer',
      attributes: { 'messaging.message.id': job.id, 'gatehouse.job.attempt': attempt },
    });
    during(span, async () => handler(job, { signal, note })).then(handled.resolve, handled.reject);
    await handled.promise;
    return ended({ result: 'succeeded' });
  } catch (thrown) {
    if (shutdown.aborted) return stopped();
    const reason: unknown = signal.aborted ? signal.reason : thrown;
    const error = messageOf(reason);
    if (reason instanceof PostponedError) {
      return ended({ result: 'postponed', error, retryInMs: withJitter(reason.retryInMs) });
    }
    if (reason instanceof PermanentError) return ended({ result: 'rejected', error });
    if (attempt >= maxAttempts) return dead(error);
    const least = reason instanceof RetryLaterError ? reason.retryInMs : 0;
    return ended({ result: 'failed', error, retryInMs: Math.max(least, backoff(attempt, backoffMs)) });
  } finally {
    clearTimeout(timer);
  }
}

/** Repeats an action until it succeeds. After `shutdown` it rejects with the last error. */
export async function untilSuccess(
  action: () => Promise<void>,
  shutdown: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  for (let count = 1; ; count += 1) {
    try {
      return await action();
    } catch (error) {
      if (shutdown.aborted) throw error;
      onError(error);
      await sleep(backoff(count, RETRY_MS), undefined, { signal: shutdown }).catch(() => {});
    }
  }
}

/** Exponential backoff with jitter, in milliseconds; `count` is from 1. */
export function backoff(count: number, { first, max }: { first: number; max: number }): number {
  return withJitter(Math.min(first * 2 ** Math.min(count - 1, 30), max));
}

/** Adds up to a quarter by chance, so that jobs that failed together are not repeated together. */
function withJitter(ms: number): number {
  return Math.round(ms * (1 + Math.random() / 4));
}

function messageOf(error: unknown): string {
  return (
    error instanceof Error ? error.message : 'The handler rejected with a value that is not an error.'
  ).slice(0, MAX_ERROR_LENGTH);
}
