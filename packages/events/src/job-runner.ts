import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { JobDocument } from '@gatehouse/data/job-document';
import type { FailureLog } from './failure-log.ts';
import type { Job, JobHandler, Outcome } from './job.ts';
import type { JobCollection } from './job-collection.ts';
import type { OwnerJobs } from './owner-turns.ts';
import { runAttempt, untilSuccess } from './run-attempt.ts';

export type WorkOptions<D extends JobDocument, R> = {
  lane: string;
  handler: JobHandler<D, R>;
  /** Handlers that run at the same time in this process. As many jobs again may wait for their outcome to be recorded. */
  slots: number;
  /**
   * The longest time of an attempt. Then its signal is aborted, the attempt has failed, and its slot is free, even when
   * the handler goes on.
   */
  timeoutMs: number;
  /** 8 unless given. A job that has failed so often becomes a dead letter. */
  maxAttempts?: number;
  /** The pause after the first failed attempt, and the longest one. Between them it doubles, with jitter. */
  backoffMs?: { first: number; max: number };
  /** While it returns true, no job is claimed. It is called often. */
  paused?: () => boolean;
  /** Called with the outcome of each attempt that counts or was postponed, before it is recorded; it may be called again. */
  onEnding?(job: Job<D>, outcome: Outcome, result: R | undefined): Promise<void>;
  /** Called once it is recorded. */
  onEnded?(job: Job<D>, outcome: Outcome, result: R | undefined): void;
};

/** A job that is worked on. `isLost`: it is gone, or somebody else works on it. */
type Running<D extends JobDocument> = { job: Job<D>; isLost: boolean; abort(reason: Error): void };

const DEFAULT_BACKOFF_MS = { first: 1000, max: 15 * 60_000 };
const DEFAULT_MAX_ATTEMPTS = 8;
/** The least slot-time of a job that was rejected as busy: it has cost the database as much as another. */
const LEAST_MS = 10;
/** How often leases are prolonged, and it is noticed that a job is gone. */
const RENEW_MS = 1500;

/** Runs jobs that a worker has claimed, renews their leases meanwhile, and records their outcomes. */
export function createJobRunner<D extends JobDocument, R>(
  options: WorkOptions<D, R> & {
    jobs: JobCollection<D, R>;
    leaseMs: number;
    logger: Logger;
    logUnreachable: FailureLog;
    /** Called when a job is to be done again, and when. */
    onRetry(of: OwnerJobs & { due: Date }): void;
  },
) {
  const { jobs, leaseMs, logger, logUnreachable, onRetry } = options;
  const shutdown = new AbortController();
  const attempts = {
    ...options,
    maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    backoffMs: options.backoffMs ?? DEFAULT_BACKOFF_MS,
    shutdown: shutdown.signal,
  };
  const running = new Map<string, Running<D>>();

  /** Runs a job that was claimed, and records its outcome. Calls `handled` when the handler has ended, once. */
  async function run(job: Job<D>, enter: () => Promise<() => void>, handled?: (ms: number) => void) {
    const own: Running<D> = { job, isLost: false, abort() {} };
    running.set(job.id, own);
    const leave = await enter();
    const begun = performance.now();
    let isInSlot = true;
    const leaveSlot = (leastMs = 0) => {
      if (isInSlot) handled?.(Math.max(performance.now() - begun, leastMs));
      isInSlot = false;
    };
    try {
      if (own.isLost) return;
      const { outcome, result } = await runAttempt(job, attempts, (abort) => {
        own.abort = abort;
      });
      leaveSlot(outcome.result === 'postponed' ? LEAST_MS : 0);
      if (outcome.result === 'dead' && !own.isLost) {
        logger.error(
          { job: job.id, attempts: job.attempt, error: outcome.error },
          'a job has become a dead letter',
        );
      }
      const record = async () => {
        if (own.isLost) return;
        await options.onEnding?.(job, outcome, result);
        await jobs.settle(job, outcome, result);
        options.onEnded?.(job, outcome, result);
      };
      await untilSuccess(record, shutdown.signal, logUnreachable);
      if ('retryInMs' in outcome) {
        const { priority, owner } = job;
        onRetry({ priority, owner, due: new Date(Date.now() + outcome.retryInMs) });
      }
    } catch (error) {
      // The worker stops, and another process repeats the job after its lease.
      logUnreachable(error, { job: job.id });
    } finally {
      leaveSlot();
      if (running.get(job.id) === own) running.delete(job.id);
      leave();
    }
  }

  async function renew(): Promise<void> {
    if (running.size === 0) return;
    const held = [...running.values()];
    const own = held.map(({ job }) => job);
    const lost = new Set(await jobs.renew(own, leaseMs));
    for (const it of held) {
      if (!lost.has(it.job)) continue;
      it.isLost = true;
      it.abort(new Error('The job is gone, or another process has taken it over.'));
    }
  }

  /** One at a time, however long the database takes. */
  const renewing = createPeriodicTask({
    run: renew,
    everyMs: Math.min(RENEW_MS, leaseMs / 3),
    onError: (error) => logUnreachable(error),
  });

  return {
    /** The jobs that are worked on, or whose outcome is not recorded yet, by id. */
    running: running as ReadonlyMap<string, unknown>,
    run,
    startRenewing: renewing.start,
    stopRenewing: renewing.stop,
    /** Ends the attempts under way. */
    abortAll(): void {
      shutdown.abort();
      for (const { abort } of running.values()) abort(new Error('The worker has stopped.'));
    },
  };
}
