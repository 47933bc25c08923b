import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import { bucketsOf, INTERVALS, type Interval, type RollupStore, type Unit } from './bucket.ts';

/** How often what has changed is added up into each interval. */
export type RollupPauses = Readonly<Record<Interval, number>>;
const PAUSES_MS: RollupPauses = { minute: 2000, hour: 60_000, day: 300_000 };
/** How many times as long the pause is while nothing is counted. What another replica has stored and not added up is found then. */
const IDLE_FACTOR = 5;

export type Rollup = PeriodicTask & {
  run(interval: Interval, signal?: AbortSignal): Promise<void>;
  /** To be called when this process has stored something to add up: a run follows soon. */
  added(): void;
};

/**
 * Adds up what was counted: batches into minutes, minutes into hours, hours into days, and facts into each. A unit is
 * always computed anew from all that belongs to it, and replaced only if nobody else has replaced it since before that was
 * read. So it does not matter how often that is done, by how many replicas, and where it breaks off.
 */
export function createRollup(options: {
  store: RollupStore;
  logger: Logger;
  pausesMs?: RollupPauses;
}): Rollup {
  const { store, logger, pausesMs = PAUSES_MS } = options;
  const nextRun: Record<Interval, number> = { minute: 0, hour: 0, day: 0 };
  /** Whether the last run had nothing to add up, and nothing was stored since. */
  let isIdle = false;

  async function compute(interval: Interval, unit: Unit): Promise<void> {
    for (;;) {
      const revisions = await store.revisions(interval, unit);
      const buckets = bucketsOf(unit, await store.rows(interval, unit));
      if (await store.replace(interval, buckets, revisions)) return;
    }
  }

  async function run(interval: Interval, signal?: AbortSignal): Promise<void> {
    const begun = new Date();
    const lower = interval === 'minute' ? undefined : INTERVALS[INTERVALS.indexOf(interval) - 1];
    // Read first: what was complete then is in what is added up now.
    const before = lower && (await store.state(lower));
    for (let isAll = false; !isAll; ) {
      if (signal?.aborted) return;
      const pending = await store.pending(interval);
      if (pending.units.length > 0) isIdle = false;
      for (const unit of pending.units) await compute(interval, unit);
      await store.settle(interval, pending);
      isAll = pending.isAll;
    }
    await store.complete(interval, { usage: before?.usage ?? (await store.sentUntil(begun)), facts: begun });
  }

  const task = createPeriodicTask({
    async run(signal) {
      isIdle = true;
      for (const interval of INTERVALS) {
        const now = performance.now();
        if (now < nextRun[interval] || signal.aborted) continue;
        await run(interval, signal);
        nextRun[interval] = now + pausesMs[interval];
      }
    },
    everyMs: () => pausesMs.minute * (isIdle ? IDLE_FACTOR : 1),
    immediately: true,
    onError: (error) => logger.warn({ err: error }, 'analytics could not be added up; trying again'),
  });
  return {
    ...task,
    run,
    added() {
      if (!isIdle) return;
      isIdle = false;
      nextRun.minute = 0;
      task.wake();
    },
  };
}
