import type { JobDocument, Priority } from '@gatehouse/data/job-document';

/** A job that somebody works on. */
export type Job<D extends JobDocument = JobDocument> = {
  id: string;
  queue: string;
  lane: string;
  priority: Priority;
  owner: string;
  /** The number of this attempt, from 1; after a replay, from 1 again. */
  attempt: number;
  holder: string;
  traceparent: string | undefined;
  /** As it was when it was claimed. */
  document: D;
};

/** One run of a job's handler. */
export type Attempt<R = unknown> = {
  /** Aborted when the attempt has taken too long, the job is gone or taken over, or the worker stops. */
  signal: AbortSignal;
  /** Passed to `changesOf` (see JobKind), also when the handler rejects. */
  note(result: R): void;
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
export type JobHandler<D extends JobDocument = JobDocument, R = unknown> = (
  job: Job<D>,
  attempt: Attempt<R>,
) => unknown;

class LaterError extends Error {
  readonly retryInMs: number;
  constructor(message: string, retryInMs: number, options?: ErrorOptions) {
    super(message, options);
    this.retryInMs = retryInMs;
  }
}

/** The attempt has failed, and the next one must not come before `retryInMs`, as a Retry-After demands. */
export class RetryLaterError extends LaterError {
  override readonly name = 'RetryLaterError';
}

/** The job cannot be done at the moment, for a reason that is not its own; the attempt does not count. */
export class PostponedError extends LaterError {
  override readonly name = 'PostponedError';
}

/** The job cannot succeed, however often it is repeated. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}

/** How an attempt has ended. `error` is the message of what the handler rejected with. */
export type Outcome =
  | { result: 'succeeded' }
  /** Another attempt follows after this time. */
  | { result: 'failed'; error: string; retryInMs: number }
  /** It was the last attempt, and the job is a dead letter. */
  | { result: 'dead'; error: string; attempts: number }
  /** The handler rejected with PermanentError. */
  | { result: 'rejected'; error: string }
  /** The attempt does not count. */
  | { result: 'postponed'; error: string; retryInMs: number };
