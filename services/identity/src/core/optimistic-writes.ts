import { ServiceError } from '@gatehouse/core/errors';
import { allowsVersion, type IfVersion } from '@gatehouse/domain/if-version';

/** How often a change is tried when others change the same thing at the same time. */
const MAX_TRIES = 20;

/** Repeats a change until `attempt`, which is undefined when others were faster, has a result. Throws `conflict`. */
export async function retried<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let i = 0; i < MAX_TRIES; i += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new ServiceError('conflict', 'This is being changed by others: try again.');
}

/**
 * Changes something at one of these versions, which are times of changes. `write` changes it only if its `updatedAt` is still the one that was
 * read, and is undefined otherwise. Throws `precondition_failed` (RFC 9110 §13.1.1) and `conflict`.
 */
export function changeAtVersion<T extends { updatedAt: Date }, R>(
  ifVersion: IfVersion,
  read: () => Promise<T>,
  write: (current: T) => Promise<R | undefined>,
): Promise<R> {
  return retried(async () => {
    const current = await read();
    if (allowsVersion(ifVersion, current.updatedAt.getTime())) return write(current);
    throw new ServiceError('precondition_failed', 'It has been changed meanwhile. Read it again.');
  });
}
