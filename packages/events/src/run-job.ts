import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { continueTrace, during } from '@gatehouse/core/tracing';
import { jobExclusion } from './exclusive-jobs.ts';
import type { FailureLog } from './failure-log.ts';
import {
  type Job,
  type JobHandler,
  type JobStateStore,
  type Outcome,
  PermanentError,
  PostponedError,
  RetryLaterError,
} from './job.ts';
import type { Delivery, JobStore } from './job-store.ts';

/** A job that is being worked on. */
export type RunningJob = {
  /** Extends its leases. */
  extend(): void;
  /** Ends the attempt, if it has begun. */
  abort(reason: Error): void;
};

export type RunJobOptions = {
  handler: JobHandler;
  jobStates: JobStateStore;
  store: JobStore;
  timeoutMs: number;
  maxAttempts: number;
  backoffMs: { first: number; max: number };
  logger: Logger;
  /** Where the job is while it is worked on: somebody else extends the leases of all, and aborts them when they must end. */
  running: Set<RunningJob>;
  /** Aborted when the attempts under way must end. */
  shutdown: AbortSignal;
  logUnsettled: FailureLog;
  logUnrenewed: FailureLog;
};

/** The pause after the job states or the dead letters could not be reached. */
const STORE_RETRY_MS = { first: 100, max: 5000 };
/** The pause of a job that must run alone while another one does. */
const TURN_MS = 1000;
/** The outcome of an attempt that must end with its worker. */
const STOPPED: Outcome = { result: 'postponed', error: 'The worker has stopped.', retryInMs: 0 };
/** The longest error message that is kept. */
const MAX_ERROR_LENGTH = 500;

/** Runs the handler for one delivery, calls `handled` when it has ended, and settles what becomes of the job. Never rejects. */
export async function runJob(delivery: Delivery, options: RunJobOptions, handled: () => void): Promise<void> {
  const { logUnsettled, backoffMs, running, jobStates } = options;
  const { job } = delivery;
  const runningJob: RunningJob = { extend: () => delivery.working(), abort() {} };
  running.add(runningJob);
  let leave: (() => void) | undefined;
  try {
    leave = await jobExclusion.enter();
    const lease = { leaseMs: options.store.leaseMs };
    let begun = await jobStates.begin(job, { ...lease, exclusive: false });
    if (begun === 'exclusive') {
      leave();
      leave = await jobExclusion.enterExclusively();
      if (leave === undefined) return await delivery.retry(withJitter(TURN_MS));
      begun = await jobStates.begin(job, { ...lease, exclusive: true });
    }
    if (begun === 'ended') return await delivery.done();
    // Only a store that breaks its contract says 'exclusive' again.
    if (begun === 'exclusive') return await delivery.retry(withJitter(TURN_MS));
    if ('busyMs' in begun) return await delivery.retry(begun.busyMs + withJitter(TURN_MS));
    await runAttempt(delivery, begun.attempt, options, { runningJob, handled });
  } catch (error) {
    // The job states or the queue failed: no attempt was made, or its outcome may not have been recorded.
    logUnsettled(error, { job: job.id });
    await delivery.retry(backoff(delivery.deliveries, backoffMs)).catch(() => {});
  } finally {
    running.delete(runningJob);
    leave?.();
  }
}

async function runAttempt(
  delivery: Delivery,
  attempt: number,
  options: RunJobOptions,
  { runningJob, handled }: { runningJob: RunningJob; handled: () => void },
): Promise<void> {
  const { maxAttempts, jobStates, store, logger, logUnrenewed, shutdown } = options;
  const { job } = delivery;
  let isLost = false;
  runningJob.extend = () => {
    delivery.working();
    jobStates.renew(job, attempt, store.leaseMs).then(
      (isHeld) => {
        if (isHeld) return;
        isLost = true;
        runningJob.abort(new Error('Another process has taken over the job.'));
      },
      (error: unknown) => logUnrenewed(error, { job: job.id }),
    );
  };
  const outcome: Outcome =
    attempt > maxAttempts
      ? { result: 'dead', error: 'The process ended during the last attempt.' }
      : await runHandler(job, attempt, options, runningJob);
  handled();
  // The process that has taken it over records the outcome.
  if (isLost) return await delivery.retry(store.leaseMs);
  if (outcome.result === 'dead') {
    const letter = { job, attempts: Math.min(attempt, maxAttempts), error: outcome.error };
    await persist(() => store.dead.put({ ...letter, failedAt: new Date() }), shutdown);
    logger.error({ ...letter, job: job.id }, 'a job has become a dead letter');
  }
  await persist(async () => {
    if (!isLost) await jobStates.end(job, attempt, outcome);
  }, shutdown);
  // The outcome may have been recorded, and only the response was lost; the next attempt finds out.
  if (isLost) return await delivery.retry(store.leaseMs);
  if ('retryInMs' in outcome) await delivery.retry(outcome.retryInMs);
  else await delivery.done();
}

async function runHandler(
  job: Job,
  attempt: number,
  { handler, timeoutMs, maxAttempts, backoffMs, shutdown, logger }: RunJobOptions,
  runningJob: RunningJob,
): Promise<Outcome> {
  // It took long to begin, such as while the database was away, and nobody would end the attempt before its time is over.
  if (shutdown.aborted) return STOPPED;
  const controller = new AbortController();
  const { signal } = controller;
  const ended = Promise.withResolvers<unknown>();
  runningJob.abort = (reason) => {
    controller.abort(reason);
    // A handler that ignores the signal goes on without anybody waiting for it.
    ended.reject(reason);
  };
  const timer = setTimeout(
    () => runningJob.abort(new Error(`The attempt took longer than ${timeoutMs} ms.`)),
    timeoutMs,
  );
  try {
    const { id, queue, priority, lane } = job;
    const span = continueTrace(job.traceparent, `process ${queue}.${priority}.${lane}`, {
      kind: 'consumer',
      attributes: { 'messaging.message.id': id, 'gatehouse.job.attempt': attempt },
    });
    during(span, async () => handler(job, { number: attempt, signal })).then(ended.resolve, ended.reject);
    await ended.promise;
    return { result: 'succeeded' };
  } catch (thrown) {
    if (shutdown.aborted) return STOPPED;
    const reason: unknown = signal.aborted ? signal.reason : thrown;
    const error = messageOf(reason);
    if (reason instanceof PostponedError) {
      return { result: 'postponed', error, retryInMs: withJitter(reason.retryInMs) };
    }
    if (reason instanceof PermanentError) return { result: 'rejected', error };
    logger.debug({ job: job.id, attempt, reason: error }, 'an attempt has failed');
    if (attempt >= maxAttempts) return { result: 'dead', error };
    const least = reason instanceof RetryLaterError ? reason.retryInMs : 0;
    return { result: 'failed', error, retryInMs: Math.max(least, backoff(attempt, backoffMs)) };
  } finally {
    clearTimeout(timer);
  }
}

/** Repeats an action until it succeeds; rejects with its error when that is not before `shutdown`. */
async function persist(action: () => Promise<void>, shutdown: AbortSignal): Promise<void> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await action();
    } catch (error) {
      if (shutdown.aborted) throw error;
      await sleep(backoff(failures, STORE_RETRY_MS), undefined, { signal: shutdown }).catch(() => {});
    }
  }
}

/** Exponential backoff with jitter, in milliseconds; `count` is from 1. */
export function backoff(count: number, { first, max }: { first: number; max: number }): number {
  return withJitter(Math.min(first * 2 ** Math.min(count - 1, 30), max));
}

/** Between the time and a quarter more, so that what failed together is not repeated together. */
function withJitter(ms: number): number {
  return Math.round(ms * (1 + Math.random() / 4));
}

function messageOf(error: unknown): string {
  return (
    error instanceof Error ? error.message : 'The handler rejected with a value that is not an error.'
  ).slice(0, MAX_ERROR_LENGTH);
}
