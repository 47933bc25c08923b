import { AsyncLocalStorage } from 'node:async_hooks';

/** Thrown in place of the first write. */
class FirstWrite extends Error {}

const dryRun = new AsyncLocalStorage<true>();

/**
 * Runs work up to its first write to the database, which is left out. Resolves to undefined when the work got there: all checks before
 * the write have passed. Rejects like the work itself.
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

/** Ends a dry run by an error, which `untilFirstWrite` catches. Call it before each write. */
export function endDryRun(): void {
  if (isInDryRun()) throw new FirstWrite();
}
