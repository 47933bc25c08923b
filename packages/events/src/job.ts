/** From the highest to the lowest. */
export const PRIORITIES = ['high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A job of a queue. `data` is small: it refers to documents, which hold the content. */
export type Job = {
  /** The id of the event that it was published as. */
  id: string;
  /** When the event was made. */
  at: Date;
  queue: string;
  priority: Priority;
  lane: string;
  data: Record<string, unknown>;
  /** The trace context of its cause, when traces are recorded. */
  traceparent?: string | undefined;
};

/** One run of a job's handler. */
export type Attempt = {
  /** From 1; after a replay, from 1 again. */
  number: number;
  /** Aborted when the attempt has taken too long, has been taken over by another process, or the worker stops. */
  signal: AbortSignal;
};

/**
 * Does a job. Resolves when it is done. Jobs are worked on at least once, so a handler must recognize what it did before,
 * by the id of the job. It rejects with
 *
 * - any error: the attempt has failed, and is repeated after a pause that doubles; after the last one, the job becomes a
 *   dead letter. The message of the error is kept with it, and must hold no secret and no personal data;
 * - RetryLaterError: the same, and the pause is at least as long as it says;
 * - PermanentError: no repetition would help; the job has ended, without a dead letter;
 * - PostponedError: the job waits, and the attempt does not count.
 */
export type JobHandler = (job: Job, attempt: Attempt) => unknown;

/** The attempt has failed, and the next one must not come before `retryInMs`, as a Retry-After demands. */
export class RetryLaterError extends Error {
  override readonly name = 'RetryLaterError';
  readonly retryInMs: number;
  constructor(message: string, retryInMs: number, options?: ErrorOptions) {
    super(message, options);
    this.retryInMs = retryInMs;
  }
}

/** The job cannot succeed, however often it is repeated. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}

/** The job cannot be done at the moment, for a reason that is not its own; the attempt does not count. */
export class PostponedError extends Error {
  override readonly name = 'PostponedError';
  readonly retryInMs: number;
  constructor(message: string, retryInMs: number, options?: ErrorOptions) {
    super(message, options);
    this.retryInMs = retryInMs;
  }
}

/** How an attempt has ended. `error` is the message of what the handler rejected with. */
export type Outcome =
  | { result: 'succeeded' }
  /** Another attempt follows after this time. */
  | { result: 'failed'; error: string; retryInMs: number }
  /** It was the last attempt, and the job is a dead letter. */
  | { result: 'dead'; error: string }
  /** The handler rejected with PermanentError. */
  | { result: 'rejected'; error: string }
  /** The attempt does not count. */
  | { result: 'postponed'; error: string; retryInMs: number };

/**
 * The result of `begin`:
 *
 * - `attempt`: its number; the attempt is counted now;
 * - 'exclusive': an earlier attempt never ended. Its process died, perhaps because of this job, which is therefore begun again with
 *   `exclusive`, when no other job runs beside it that could be interrupted, too. Nothing is counted;
 * - `busyMs`: another process works on the job, and its lease ends after this time at the latest;
 * - 'ended': there is nothing to do. The job has succeeded, was rejected, cancelled or superseded, or is a dead letter.
 */
export type BeginResult = { attempt: number } | 'exclusive' | { busyMs: number } | 'ended';

/**
 * The states of the jobs of a queue, kept where their documents are: a queue alone cannot know whether a job that is
 * delivered again was tried before, or has ended. Each method is one atomic write. createJobStateStore makes one for jobs
 * without a document of their own.
 */
export type JobStateStore = {
  /**
   * Counts an attempt and leases the job for `leaseMs`, unless it has ended, another process holds the lease, or it must run
   * alone. The handler is not called for an attempt above the worker's `maxAttempts`: the one before was the last, and
   * never ended.
   */
  begin(job: Job, options: { leaseMs: number; exclusive: boolean }): Promise<BeginResult>;
  /** Extends the lease of a long attempt. Resolves to false when the job is no longer that attempt's. */
  renew(job: Job, attempt: number, leaseMs: number): Promise<boolean>;
  /**
   * Records the outcome, ends the lease, and for 'postponed' takes the attempt back. Changes nothing unless this attempt
   * is the latest one, begun after the latest reset.
   */
  end(job: Job, attempt: number, outcome: Outcome): Promise<void>;
  /** Before a replay: the job has not ended, and its attempts are counted from 1 again. */
  reset(job: Job): Promise<void>;
};
