import type { Audit } from '../audit/audit.ts';
import { type ApplicationStore, MAX_APPLICATIONS } from './application.ts';
import type { ApplicationWrites } from './application-writes.ts';

/**
 * Deletes all applications of a person whose account is deleted, with their secrets, API keys and grants. Repeated after it
 * was broken off, it goes on where it was.
 */
export function createRemoval(options: {
  store: Pick<ApplicationStore, 'list' | 'markDeleted'>;
  writes: Pick<ApplicationWrites, 'revoke' | 'revokeWhatIsDue'>;
  audit: Pick<Audit, 'record'>;
}): (owner: string) => Promise<void> {
  const { store, writes, audit } = options;
  return async (owner) => {
    // One page: nobody owns more.
    for (const { id: client } of await store.list({ owner, after: undefined, limit: MAX_APPLICATIONS })) {
      const deleted = await store.markDeleted(client, owner);
      // Somebody else has got it meanwhile.
      if (deleted === undefined) continue;
      const cause = { cause: 'owner' };
      await audit.record({ action: 'application.deleted', client, subject: owner, details: cause });
      await writes.revoke([{ application: deleted, over: true }]);
    }
    while ((await writes.revokeWhatIsDue(owner)) > 0);
  };
}
