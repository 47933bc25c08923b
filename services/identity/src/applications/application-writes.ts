import { ServiceError } from '@gatehouse/kit/errors';
import type { RevocationEntry } from '../revocations/revocations.ts';
import type { ApiKeyStore } from './api-key.ts';
import type { Application, ApplicationChanges, ApplicationStore, Trust } from './application.ts';

/** How often a change is tried when others change the application at the same time. */
const MAX_TRIES = 5;

export type ApplicationWrites = {
  /**
   * Revokes what has been issued to an application, up to its epoch or, when it was deleted, all. Durable when it
   * resolves.
   */
  revoke(application: Application, deleted: boolean): Promise<void>;
  /**
   * Changes an application, and revokes what was issued to it if that permits more than it would now. With the trust in
   * it, its API keys end. Undefined when it has been changed or deleted since it was read.
   */
  change(
    before: Application,
    changes: ApplicationChanges & { trust?: Trust },
  ): Promise<Application | undefined>;
};

export function createApplicationWrites(options: {
  store: ApplicationStore;
  keys: Pick<ApiKeyStore, 'removeAll'>;
  revocations: { write(entries: readonly RevocationEntry[]): Promise<void> };
  /** Ends every grant to an application that is gone. */
  endGrants(clientId: string): Promise<void>;
}): ApplicationWrites {
  const { store, keys, revocations } = options;

  async function revoke({ id, epoch }: Application, deleted: boolean): Promise<void> {
    await revocations.write([{ kind: 'client', id, ...(deleted ? {} : { epoch }) }]);
    if (deleted) await Promise.all([keys.removeAll(id), options.endGrants(id)]);
    // Only now is the mark removed by which it would be resumed after a crash.
    await store.revocationWritten(id, epoch);
  }

  return {
    revoke,
    async change(before, changes) {
      const next = { ...before, ...changes };
      // Before the trust: after a crash in between, it still is to be ended.
      if (before.trusted && !next.trusted) await keys.removeAll(before.id);
      const shrinks = isLess(next, before);
      const changed = await store.change(before, changes, shrinks);
      if (changed !== undefined && shrinks) await revoke(changed, false);
      return changed;
    },
  };
}

/** Repeats a change until `attempt`, which is undefined when others were faster, has a result. Throws `conflict`. */
export async function retried<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let i = 0; i < MAX_TRIES; i += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new ServiceError('conflict', 'This application is being changed by others: try again.');
}

/** Whether tokens that were issued before carry more than new ones would. */
function isLess(next: Application, before: Application): boolean {
  return (
    before.scopes.some((scope) => !next.scopes.includes(scope)) ||
    (before.trusted && !next.trusted) ||
    (!before.dpopBound && next.dpopBound)
  );
}
