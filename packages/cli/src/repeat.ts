import { setTimeout as wait } from 'node:timers/promises';
import { ApiError, UnreachableError } from './api-client.ts';
import { withoutControls } from './output.ts';

const PAUSE_MS = 1000;
/** The longest pause while the deployment is away. */
const MAX_PAUSE_MS = 30_000;

/** Repeats some work until the process ends, with longer pauses while the deployment is away. Rejects with any other error. */
export async function repeat(work: () => Promise<void>, note: (text: string) => void): Promise<never> {
  for (let pause = PAUSE_MS; ; ) {
    try {
      await work();
      pause = PAUSE_MS;
    } catch (error) {
      const isAway =
        error instanceof UnreachableError ||
        (error instanceof ApiError && (error.status >= 500 || error.status === 429));
      if (!isAway) throw error;
      if (pause === PAUSE_MS) note(`${withoutControls(error.message)} Trying again…`);
      pause = Math.min(pause * 2, MAX_PAUSE_MS);
    }
    await wait(pause);
  }
}
