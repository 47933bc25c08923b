import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { jobExclusion } from './exclusive-jobs.ts';
import { createFailureLog } from './failure-log.ts';
import { type JobStateStore, PRIORITIES, type Priority } from './job.ts';
import type { JobWorker, WorkOptions } from './job-queue.ts';
import type { Delivery, JobStore } from './job-store.ts';
import { backoff, type RunningJob, runJob } from './run-job.ts';

const DEFAULT_WEIGHTS = { high: 6, normal: 3, low: 1 };
const DEFAULT_BACKOFF_MS = { first: 1000, max: 15 * 60_000 };
const DEFAULT_MAX_ATTEMPTS = 8;
/** How often a paused worker looks whether it still is. */
const PAUSED_POLL_MS = 100;
/** How long stop() waits before it aborts the attempts under way. */
const STOP_MS = 5000;
const STORE_RETRY_MS = { first: 100, max: 5000 };

/**
 * A worker of one lane. It asks each priority for as many jobs as its share of the free slots, so none is taken that would
 * have to wait here; what a priority leaves goes to the others. A priority that is found empty is waited for with one
 * request, and takes no part in the shares until that brings a job.
 */
export function createJobWorker(
  options: WorkOptions & { store: JobStore; jobStates: JobStateStore; logger: Logger },
): JobWorker {
  const { lane, store, logger, slots, paused = () => false } = options;
  const stopping = new AbortController();
  const shutdown = new AbortController();
  const logOf = (message: string) => createFailureLog(logger, message, stopping.signal);
  const logUnreachable = logOf('the jobs of a queue cannot be reached; trying again');
  const nextPriority = createShares(options.weights ?? DEFAULT_WEIGHTS);
  const run = {
    ...options,
    maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    backoffMs: options.backoffMs ?? DEFAULT_BACKOFF_MS,
    shutdown: shutdown.signal,
    logUnsettled: logOf('a job could not be settled; it is delivered again'),
    logUnrenewed: logOf('the lease of a job could not be renewed'),
    running: new Set<RunningJob>(),
  };
  /** The running jobs, with those whose outcome is not recorded yet. */
  const unsettled = new Set<Promise<void>>();
  /** The number of handlers that have not ended. */
  let occupied = 0;
  /** The priorities that take no part in the shares, and what ends that. */
  const waiting = new Map<Priority, Promise<void>>();
  let woken = Promise.withResolvers<void>();
  let loop: Promise<void> | undefined;
  let extending: NodeJS.Timeout | undefined;
  let failures = 0;
  /** The priorities of which more jobs wait than were taken last. */
  const crowded = new Set<Priority>();
  /** The jobs that have overtaken others and have not ended, by id; and what the store has handed out of them meanwhile. */
  const ahead = new Map<string, Delivery | undefined>();
  let roundUp = 0;

  const mayTake = () => !stopping.signal.aborted && !paused() && !jobExclusion.closed();
  const wake = () => {
    woken.resolve();
    woken = Promise.withResolvers();
  };

  /** While the outcome of a job is recorded, its slot is free for another; but not for ever more of them. */
  const free = () => Math.min(slots - occupied, 2 * slots - unsettled.size);

  function start(delivery: Delivery): void {
    let isOccupied = true;
    occupied += 1;
    const leaveSlot = () => {
      if (isOccupied) occupied -= 1;
      isOccupied = false;
      wake();
    };
    const ended = runJob(delivery, run, leaveSlot).finally(() => {
      unsettled.delete(ended);
      leaveSlot();
    });
    unsettled.add(ended);
  }

  async function pull(priority: Priority, max: number, waitMs: number): Promise<'more' | 'empty' | 'failed'> {
    try {
      const deliveries = await store.pull({ lane, priority, max, waitMs, signal: stopping.signal });
      failures = 0;
      for (const delivery of deliveries) {
        if (ahead.has(delivery.job.id)) ahead.set(delivery.job.id, delivery);
        // One that was waited for may come when it can no longer be taken.
        else if (free() > 0 && mayTake()) start(delivery);
        else await delivery.retry(0).catch(() => {});
      }
      return deliveries.length === max ? 'more' : 'empty';
    } catch (error) {
      failures += 1;
      logUnreachable(error);
      return 'failed';
    }
  }

  /** Starts jobs that need not wait, half of `max`; returns how many. */
  async function overtake(priority: Priority, max: number): Promise<number> {
    if (options.overtaking === undefined || !crowded.has(priority)) return 0;
    roundUp = 1 - roundUp;
    const half = Math.floor((max + roundUp) / 2);
    const jobs = half === 0 ? [] : await options.overtaking(priority, half).catch(() => []);
    const started = jobs.filter(({ id }) => !ahead.has(id) && free() > 0 && mayTake());
    for (const job of started) {
      ahead.set(job.id, undefined);
      // If the queue has delivered it meanwhile, that delivery is settled here; else when it comes.
      const settled = () => {
        const delivery = ahead.get(job.id);
        ahead.delete(job.id);
        return delivery;
      };
      start({
        job,
        deliveries: 1,
        done: async () => settled()?.done(),
        retry: async (afterMs) => settled()?.retry(afterMs),
        working: () => ahead.get(job.id)?.working(),
      });
    }
    return started.length;
  }

  async function waitFor(priority: Priority, result: 'empty' | 'failed'): Promise<void> {
    const failed = result === 'failed' || (await pull(priority, 1, store.waitMs)) === 'failed';
    if (failed) await pause(backoff(failures, STORE_RETRY_MS));
    waiting.delete(priority);
    wake();
  }

  /** Fills the free slots. */
  async function fill(open: readonly Priority[]): Promise<void> {
    const wanted = new Map<Priority, number>();
    for (let left = free(); left > 0; left -= 1) {
      const priority = nextPriority(open);
      wanted.set(priority, (wanted.get(priority) ?? 0) + 1);
    }
    const pulls = [...wanted].map(async ([priority, max]) => {
      const left = max - (await overtake(priority, max));
      const result = left === 0 ? 'more' : await pull(priority, left, 0);
      if (result === 'more') crowded.add(priority);
      else {
        crowded.delete(priority);
        waiting.set(priority, waitFor(priority, result));
      }
    });
    await Promise.all(pulls);
  }

  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => {});

  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      const open = PRIORITIES.filter((priority) => !waiting.has(priority));
      if (!mayTake()) await pause(PAUSED_POLL_MS);
      else if (free() > 0 && open.length > 0) await fill(open);
      else await woken.promise;
      // Slots that become free in the same turn of the event loop are filled together.
      await nextTurn();
    }
  }

  return {
    start() {
      if (loop !== undefined) return;
      extending = setInterval(() => {
        for (const job of run.running) job.extend();
      }, store.leaseMs / 3);
      loop = work();
    },
    async stop() {
      stopping.abort();
      wake();
      const timer = setTimeout(() => {
        shutdown.abort();
        for (const job of run.running) job.abort(new Error('The worker has stopped.'));
      }, STOP_MS);
      await loop;
      await Promise.all([...waiting.values(), ...unsettled]);
      clearTimeout(timer);
      clearInterval(extending);
    },
  };
}

/**
 * Returns a function that says which of the open priorities is next, so that each is as often as its weight and they
 * alternate as evenly as possible: the smooth weighted round-robin of nginx.
 */
export function createShares(weights: Readonly<Record<Priority, number>>) {
  for (const priority of PRIORITIES) {
    if (!(weights[priority] >= 1)) throw new RangeError(`The weight of ${priority} must be at least 1.`);
  }
  const current = { high: 0, normal: 0, low: 0 };
  return (open: readonly Priority[]): Priority => {
    let best = open[0] ?? 'high';
    let total = 0;
    for (const priority of open) {
      current[priority] += weights[priority];
      total += weights[priority];
      if (current[priority] > current[best]) best = priority;
    }
    current[best] -= total;
    return best;
  };
}
