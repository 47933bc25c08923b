import { AsyncLocalStorage } from 'node:async_hooks';

/** Thrown in place of the first write. */
class FirstWrite extends Error {}

const dryRun = new AsyncLocalStorage<true>();

/**
 * Runs what would change the database up to its first write, which is left out. Resolves to undefined when it got there: everything that is
 * checked before has been accepted. Rejects like the work itself.
 */
export async function untilFirstWrite<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await dryRun.run(true, work);
  } catch (error) {
    if (error instanceof FirstWrite) return undefined;
    throw error;
  }
}

export const isInDryRun = (): boolean => dryRun.getStore() !== undefined;

/** To be called before each write: ends a dry run by an error, which `untilFirstWrite` catches. */
export function endDryRun(): void {
  if (isInDryRun()) throw new FirstWrite();
}
