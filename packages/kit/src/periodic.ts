import { setTimeout as sleep } from 'node:timers/promises';

export type PeriodicTask = {
  /** Begins; a second call does nothing. */
  start(): void;
  /** Lets a run that is under way end, and begins no other. It cannot be started again. */
  stop(): Promise<void>;
};

/**
 * Runs something again and again, never twice at the same time. A run that fails does not end the series.
 *
 * @param options.run gets a signal that is aborted by stop()
 * @param options.everyMs the pause between two runs, in milliseconds; a function gets how long the last run took
 * @param options.immediately whether the first run comes at once, instead of after a pause
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
  let running: Promise<void> | undefined;

  async function pause(lastRunMs: number): Promise<void> {
    const ms = typeof everyMs === 'function' ? everyMs(lastRunMs) : everyMs;
    // It must not keep a process alive that has nothing else to do.
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
  }

  async function repeat(): Promise<void> {
    if (!immediately) await pause(0);
    while (!signal.aborted) {
      const begun = performance.now();
      try {
        await run(signal);
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
      await pause(performance.now() - begun);
    }
  }

  return {
    start() {
      running ??= repeat();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
