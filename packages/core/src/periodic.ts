import { setTimeout as sleep } from 'node:timers/promises';

export type PeriodicTask = {
  /** A second call does nothing. */
  start(): void;
  /** Ends the current pause. During a run, it ends the next pause, since the run may have read its data before the change. */
  wake(): void;
  /** Resolves when the current run, if there is one, has ended. A stopped task cannot be started again. */
  stop(): Promise<void>;
};

/** Pauses of a second and more end at multiples of this, in milliseconds, so that the tasks of a process wake it together. */
const ALIGNMENT_MS = 500;

/**
 * Runs a function periodically. Runs never overlap, and a run that fails does not end the series.
 *
 * @param options.run gets a signal that stop() aborts
 * @param options.everyMs the pause between two runs, in milliseconds, from a second on rounded as ALIGNMENT_MS says; a
 * function gets the duration of the last run, 0 if it failed: that it was held up says nothing about how much it takes
 * @param options.immediately whether the first run comes at once instead of after a pause
 * @param options.onError gets what a run rejects with, unless stop() has been called
 */
export function createPeriodicTask(options: {
  run: (signal: AbortSignal) => unknown;
  everyMs: number | ((lastRunMs: number) => number);
  immediately?: boolean;
  onError: (error: unknown) => void;
}): PeriodicTask {
  const { run, everyMs, immediately = false, onError } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let waking = new AbortController();
  let isWoken = false;
  let running: Promise<void> | undefined;

  async function pause(lastRunMs: number): Promise<void> {
    if (signal.aborted) return;
    const ms = typeof everyMs === 'function' ? everyMs(lastRunMs) : everyMs;
    waking = new AbortController();
    // Without `ref`, the pause does not keep a process alive that has nothing else to do.
    if (!isWoken) await sleep(aligned(ms), undefined, { signal: waking.signal, ref: false }).catch(() => {});
    isWoken = false;
  }

  async function repeat(): Promise<void> {
    isWoken = false;
    if (!immediately) await pause(0);
    while (!signal.aborted) {
      const begun = performance.now();
      let lastRunMs = 0;
      try {
        await run(signal);
        lastRunMs = performance.now() - begun;
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
      await pause(lastRunMs);
    }
  }

  return {
    start() {
      running ??= repeat();
    },
    wake() {
      isWoken = true;
      waking.abort();
    },
    async stop() {
      stopping.abort();
      waking.abort();
      await running;
    },
  };
}

function aligned(ms: number): number {
  if (ms < 2 * ALIGNMENT_MS) return ms;
  const now = performance.now();
  return Math.round(Math.round((now + ms) / ALIGNMENT_MS) * ALIGNMENT_MS - now);
}
