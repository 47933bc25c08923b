import { within } from '@gatehouse/core/within';

/** How long a job that runs alone waits for those under way; their handlers may hang. */
const WAIT_MS = 5000;
/** How long no other job begins while one runs alone: long enough to show that it is the one that ends its process. */
const EXCLUSIVE_MS = 10_000;

export type JobExclusion = {
  /** Resolves when no job runs alone, to a function that says the job has ended. */
  enter(): Promise<() => void>;
  /**
   * The same for a job that runs alone. It waits up to five seconds for jobs under way, and for ten seconds no job begins beside it.
   * Undefined while another such job holds the others up.
   */
  enterExclusively(): Promise<(() => void) | undefined>;
  /** Whether a job would have to wait. */
  closed(): boolean;
};

/**
 * Lets a job that was interrupted before run alone, because it may be the one that ended its process. Then as few jobs as possible run
 * beside it and would be interrupted, too, and none that it has interrupted before.
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
