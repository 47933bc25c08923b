import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/kit/logger';

/** In milliseconds. */
const EVERY = 5000;

/** Does what a crash may have left undone, at the start and again and again. */
export function createChores(
  chores: readonly (() => Promise<void>)[],
  logger: Logger,
): { start(): void; stop(): Promise<void> } {
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      for (const chore of chores) {
        await chore().catch((error: unknown) =>
          logger.warn({ err: error }, 'a chore failed; it is done again'),
        );
      }
      await sleep(EVERY, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  }

  return {
    start() {
      running = run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
