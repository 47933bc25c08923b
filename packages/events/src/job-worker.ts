import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { JobDocument } from '@gatehouse/data/job-document';
import { jobExclusion } from './exclusive-jobs.ts';
import { createFailureLog } from './failure-log.ts';
import type { Job, JobHandler, Outcome } from './job.ts';
import type { JobCollection } from './job-collection.ts';
import {
  createOwnerTurns,
  createSlotTimes,
  type OwnerJobs,
  type SlotTime,
  type Turn,
} from './owner-turns.ts';
import { backoff, RETRY_MS, runAttempt, untilSuccess } from './run-attempt.ts';

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

export type JobWorker = {
  /** Starts to claim jobs, in the background, for as long as it takes to reach the database. */
  start(): void;
  /**
   * Claims no more jobs, and resolves when those under way have ended. After 5 seconds their signals are aborted, and other
   * processes repeat them; a second later it resolves in any case, as while the database hangs.
   */
  stop(): Promise<void>;
};

/** A job that is worked on. `isLost`: it is gone, or somebody else works on it. */
type Running<D extends JobDocument> = { job: Job<D>; isLost: boolean; abort(reason: Error): void };

const DEFAULT_BACKOFF_MS = { first: 1000, max: 15 * 60_000 };
const DEFAULT_MAX_ATTEMPTS = 8;
/** How often a paused worker looks whether it still is. */
const PAUSED_POLL_MS = 100;
/** How long stop() waits before it aborts the attempts under way. */
const STOP_MS = 5000;
/** How long it then waits for their outcomes to be recorded. */
const RECORD_MS = 1000;
/** The least slot-time of a job that was rejected as busy: it has cost the database as much as another. */
const LEAST_MS = 10;
/** How often unannounced jobs are looked for, such as those of a process that was killed, while there are jobs or not. */
const SWEEP_MS = { active: 5000, rest: 60_000 };
/** How often leases are prolonged, and it is noticed that a job is gone. */
const RENEW_MS = 1500;
/** Timers for jobs that are due later. The sweep finds the others. */
const MAX_TIMERS = 10_000;
const TIMER_MS = 20;

/** A worker of one lane: claims the jobs whose owners have a turn, and runs them. */
export function createJobWorker<D extends JobDocument, R>(
  options: WorkOptions<D, R> & { jobs: JobCollection<D, R>; leaseMs: number; logger: Logger },
): JobWorker & { announced(of: OwnerJobs & { due: Date }): void; slotTimes(): SlotTime[] } {
  const { lane, jobs, leaseMs, slots, logger, paused = () => false } = options;
  const stopping = new AbortController();
  const shutdown = new AbortController();
  const unreachable = 'the jobs of a queue cannot be reached; trying again';
  const logUnreachable = createFailureLog(logger, unreachable, stopping.signal);
  const attempts = {
    ...options,
    maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    backoffMs: options.backoffMs ?? DEFAULT_BACKOFF_MS,
    shutdown: shutdown.signal,
  };
  const turns = createOwnerTurns(slots);
  const slotTimes = createSlotTimes();
  const running = new Map<string, Running<D>>();
  /** The running jobs, with those whose outcome is not recorded yet. */
  const unsettled = new Set<Promise<void>>();
  /** For jobs that are due later, by when and whose they are. */
  const timers = new Map<string, NodeJS.Timeout>();
  let woken = Promise.withResolvers<void>();
  let activeUntil = 0;
  let loop: Promise<void> | undefined;
  /** While jobs that were interrupted are run. */
  let alone: Promise<void> | undefined;
  let failures = 0;
  /** Owners announced during the current claim. They may have jobs that its query did not see. */
  let announcedMeanwhile = new Set<string>();

  const keyOf = ({ priority, owner }: OwnerJobs) => `${priority} ${owner}`;
  const wake = () => {
    woken.resolve();
    woken = Promise.withResolvers();
  };

  function announced({ due, ...of }: OwnerJobs & { due: Date }): void {
    // The first sweep finds what was there before the start.
    if (loop === undefined || stopping.signal.aborted) return;
    const ms = due.getTime() - Date.now();
    // A later sweep finds it.
    if (ms > 2 * SWEEP_MS.rest) return;
    const now = performance.now();
    const wasAtRest = now >= activeUntil;
    activeUntil = now + SWEEP_MS.rest;
    if (wasAtRest) sweeping.wake();
    if (ms <= 0) {
      announcedMeanwhile.add(keyOf(of));
      turns.ready(of);
      wake();
      return;
    }
    // Those that are due at about the same time share a timer.
    const at = Math.ceil(due.getTime() / TIMER_MS) * TIMER_MS;
    const key = `${at} ${keyOf(of)}`;
    if (timers.has(key) || timers.size >= MAX_TIMERS) return;
    const fire = () => {
      timers.delete(key);
      announced({ ...of, due: new Date(at) });
    };
    timers.set(key, setTimeout(fire, Math.min(at - Date.now(), 2 ** 31 - 1)).unref());
  }

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
        announced({ priority, owner, due: new Date(Date.now() + outcome.retryInMs) });
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

  /** One of an earlier claim has no turn any more. */
  function start(job: Job<D>, turn: Turn | undefined): void {
    const leaveSlot = (ms: number) => {
      if (turn !== undefined) turns.ended(turn, ms);
      slotTimes.add(job.owner, ms);
      wake();
    };
    const task = run(job, jobExclusion.enter, leaveSlot).finally(() => {
      unsettled.delete(task);
      wake();
    });
    unsettled.add(task);
  }

  /** Claims jobs for these turns and starts them. The turns for which there is no job end. */
  async function claim(taken: readonly Turn[]): Promise<void> {
    announcedMeanwhile = new Set();
    const byOwner = Map.groupBy(taken, keyOf);
    const wanted = [...byOwner.values()].map((same) => ({ ...(same[0] as Turn), max: same.length }));
    let claimed: Job<D>[] = [];
    const isAfterFailure = failures > 0;
    try {
      claimed = await jobs.claim(lane, wanted, { leaseMs, except: running });
      failures = 0;
    } catch (error) {
      failures += 1;
      logUnreachable(error);
      for (const turn of taken) turns.ended(turn, undefined);
      return pause(backoff(failures, RETRY_MS));
    }
    for (const job of claimed) start(job, byOwner.get(keyOf(job))?.pop());
    for (const [key, unused] of byOwner) {
      const [first] = unused;
      if (first === undefined) continue;
      for (const turn of unused) turns.ended(turn, undefined);
      if (!isAfterFailure && !announcedMeanwhile.has(key)) turns.drained(first);
    }
  }

  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => {});

  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      const heard = woken.promise;
      if (paused() || jobExclusion.closed()) await pause(PAUSED_POLL_MS);
      else {
        const taken = turns.take(Math.min(turns.free(), 2 * slots - unsettled.size));
        if (taken.length > 0) await claim(taken);
        else await heard;
      }
      // Slots that become free in the same turn of the event loop are filled together.
      await nextTurn();
    }
  }

  /** Runs the jobs that were interrupted, each alone, since it may be the one that ended its process. */
  async function runInterrupted(): Promise<void> {
    while (!stopping.signal.aborted && !paused() && (await jobs.hasInterrupted(lane, running))) {
      const leave = await jobExclusion.enterExclusively();
      if (leave === undefined) return;
      const isStopped = stopping.signal.aborted || paused();
      const job = isStopped
        ? undefined
        : await jobs.claimInterrupted(lane, running, leaseMs).catch(logUnreachable);
      // The next sweep tries again.
      if (!job) return leave();
      await run(
        job,
        async () => leave,
        (ms) => slotTimes.add(job.owner, ms),
      );
      // Others claim jobs meanwhile.
      await pause(2 * PAUSED_POLL_MS);
    }
  }

  const sweeping = createPeriodicTask({
    immediately: true,
    everyMs: () => (performance.now() < activeUntil ? Math.min(SWEEP_MS.active, leaseMs) : SWEEP_MS.rest),
    async run() {
      turns.prune();
      for (const of of await jobs.dueTimes(lane)) announced(of);
      // Not waited for: it may take long.
      alone ??= runInterrupted()
        .catch(logUnreachable)
        .finally(() => {
          alone = undefined;
        });
    },
    onError: (error) => logUnreachable(error),
  });

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
    announced,
    slotTimes: slotTimes.top,
    start() {
      if (loop !== undefined) return;
      renewing.start();
      loop = work();
      sweeping.start();
    },
    async stop() {
      stopping.abort();
      wake();
      for (const timer of timers.values()) clearTimeout(timer);
      const timer = setTimeout(() => {
        shutdown.abort();
        for (const { abort } of running.values()) abort(new Error('The worker has stopped.'));
      }, STOP_MS);
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const limit = setTimeout(resolve, STOP_MS + RECORD_MS);
      const ended = Promise.all([loop, sweeping.stop()]).then(() => Promise.all([...unsettled, alone]));
      await Promise.race([ended, late]);
      clearTimeout(timer);
      clearTimeout(limit);
      void renewing.stop();
    },
  };
}
