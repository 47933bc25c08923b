import { setTimeout as sleep } from 'node:timers/promises';

/** Sets the wall clock and the monotonic clock forward by this many seconds, for the rest of the test. */
export async function pass(t: { teardown(fn: () => void): void }, seconds: number): Promise<void> {
  for (const clock of [Date, performance]) {
    const { now } = clock;
    t.teardown(() => {
      clock.now = now;
    });
    clock.now = () => now.call(clock) + seconds * 1000;
  }
  await sleep(2);
}
