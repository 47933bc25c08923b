import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { JobDocument } from '@gatehouse/data/job-document';
import { jobExclusion } from './exclusive-jobs.ts';
import { createFailureLog } from './failure-log.ts';
import type { Job } from './job.ts';
import type { JobCollection } from './job-collection.ts';
import { createJobRunner, type WorkOptions } from './job-runner.ts';
import {
  createOwnerTurns,
  createSlotTimes,
  type OwnerJobs,
  type SlotTime,
  type Turn,
} from './owner-turns.ts';
import { backoff, RETRY_MS } from './run-attempt.ts';

export type JobWorker = {
  /** Starts to claim jobs, in the background, for as long as it takes to reach the database. */
  start(): void;
  /**
   * Claims no more jobs, and resolves when those under way have ended. After 5 seconds their signals are aborted, and other
   * processes repeat them; a second later it resolves in any case, as while the database hangs.
   */
  stop(): Promise<void>;
};

/** How often a paused worker looks whether it still is. */
const PAUSED_POLL_MS = 100;
/** How long stop() waits before it aborts the attempts under way. */
const STOP_MS = 5000;
/** How long it then waits for their outcomes to be recorded. */
const RECORD_MS = 1000;
/** How often unannounced jobs are looked for, such as those of a process that was killed, while there are jobs or not. */
const SWEEP_MS = { active: 5000, rest: 60_000 };
/** Timers for jobs that are due later. The sweep finds the others. */
const MAX_TIMERS = 10_000;
const TIMER_MS = 20;

/** A worker of one lane: claims the jobs whose owners have a turn, and runs them. */
export function createJobWorker<D extends JobDocument, R>(
  options: WorkOptions<D, R> & { jobs: JobCollection<D, R>; leaseMs: number; logger: Logger },
): JobWorker & { announced(of: OwnerJobs & { due: Date }): void; slotTimes(): SlotTime[] } {
  const { lane, jobs, leaseMs, slots, logger, paused = () => false } = options;
  const stopping = new AbortController();
  const unreachable = 'the jobs of a queue cannot be reached; trying again';
  const logUnreachable = createFailureLog(logger, unreachable, stopping.signal);
  const turns = createOwnerTurns(slots);
  const slotTimes = createSlotTimes();
  const runner = createJobRunner({ ...options, logUnreachable, onRetry: announced });
  /** The running jobs, with those whose outcome is not recorded yet. */
  const unsettled = new Set<Promise<void>>();
  const timers = createDueTimers(announced);
  let woken = Promise.withResolvers<void>();
  let activeUntil = 0;
  let loop: Promise<void> | undefined;
  /** While jobs that were interrupted are run. */
  let alone: Promise<void> | undefined;
  let failures = 0;
  /** Owners announced during the current claim. They may have jobs that its query did not see. */
  let announcedMeanwhile = new Set<string>();

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
    } else timers.set({ ...of, due });
  }

  /** `turn` is undefined for a job of a claim whose response was lost. */
  function start(job: Job<D>, turn: Turn | undefined): void {
    const leaveSlot = (ms: number) => {
      if (turn !== undefined) turns.ended(turn, ms);
      slotTimes.add(job.owner, ms);
      wake();
    };
    const task = runner.run(job, jobExclusion.enter, leaveSlot).finally(() => {
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
      claimed = await jobs.claim(lane, wanted, { leaseMs, except: runner.running });
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
    while (!stopping.signal.aborted && !paused() && (await jobs.hasInterrupted(lane, runner.running))) {
      const leave = await jobExclusion.enterExclusively();
      if (leave === undefined) return;
      const isStopped = stopping.signal.aborted || paused();
      const job = isStopped
        ? undefined
        : await jobs.claimInterrupted(lane, runner.running, leaseMs).catch(logUnreachable);
      // The next sweep tries again.
      if (!job) return leave();
      await runner.run(
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

  return {
    announced,
    slotTimes: slotTimes.top,
    start() {
      if (loop !== undefined) return;
      runner.startRenewing();
      loop = work();
      sweeping.start();
    },
    async stop() {
      stopping.abort();
      wake();
      timers.clear();
      const timer = setTimeout(runner.abortAll, STOP_MS);
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const limit = setTimeout(resolve, STOP_MS + RECORD_MS);
      const ended = Promise.all([loop, sweeping.stop()]).then(() => Promise.all([...unsettled, alone]));
      await Promise.race([ended, late]);
      clearTimeout(timer);
      clearTimeout(limit);
      void runner.stopRenewing();
    },
  };
}

function keyOf({ priority, owner }: OwnerJobs): string {
  return `${priority} ${owner}`;
}

/** Announces jobs again when they are due. Those of an owner that are due at about the same time share a timer. */
function createDueTimers(announce: (of: OwnerJobs & { due: Date }) => void) {
  /** By when and whose they are. */
  const timers = new Map<string, NodeJS.Timeout>();
  return {
    set({ due, ...of }: OwnerJobs & { due: Date }): void {
      const at = Math.ceil(due.getTime() / TIMER_MS) * TIMER_MS;
      const key = `${at} ${keyOf(of)}`;
      if (timers.has(key) || timers.size >= MAX_TIMERS) return;
      const fire = () => {
        timers.delete(key);
        announce({ ...of, due: new Date(at) });
      };
      timers.set(key, setTimeout(fire, Math.min(at - Date.now(), 2 ** 31 - 1)).unref());
    },
    clear(): void {
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}
