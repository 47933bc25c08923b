import { within } from '@gatehouse/core/within';

/** How long a job that runs alone waits for those under way; their handlers may hang. */
const WAIT_MS = 5000;
/** How long no other job begins while one runs alone: enough to blame it when it ends its process at once. */
const EXCLUSIVE_MS = 10_000;

export type JobExclusion = {
  /** Resolves when no job runs alone, to a function that says the job has ended. */
  enter(): Promise<() => void>;
  /**
   * The same for a job that runs alone: those under way may end before, and none begins beside it, for as long as that
   * holds up no others for more than some seconds. Undefined for so long after another one has begun.
   */
  enterExclusively(): Promise<(() => void) | undefined>;
  /** Whether a job would have to wait. */
  closed(): boolean;
};

/**
 * Lets a job run alone that was interrupted before, because it may be what ended its process: then the jobs beside it,
 * which would be interrupted too, are as few as can be, and those that it has interrupted before are not among them.
 */
export function createJobExclusion({ waitMs = WAIT_MS, exclusiveMs = EXCLUSIVE_MS } = {}): JobExclusion {
  let running = 0;
  let gate: PromiseWithResolvers<void> | undefined;
  let emptied: PromiseWithResolvers<void> | undefined;

  function leave(): void {
    running -= 1;
    if (running === 0) emptied?.resolve();
  }

  return {
    async enter() {
      while (gate !== undefined) await gate.promise;
      running += 1;
      return leave;
    },
    async enterExclusively() {
      if (gate !== undefined) return undefined;
      const own = Promise.withResolvers<void>();
      gate = own;
      const open = () => {
        if (gate !== own) return;
        gate = undefined;
        own.resolve();
      };
      if (running > 0) {
        emptied = Promise.withResolvers();
        await within(waitMs, emptied.promise).catch(() => {});
        emptied = undefined;
      }
      const timer = setTimeout(open, exclusiveMs);
      return () => {
        clearTimeout(timer);
        open();
      };
    },
    closed: () => gate !== undefined,
  };
}

/** The lock of this process, for the jobs of all its queues. */
export const jobExclusion = createJobExclusion();
