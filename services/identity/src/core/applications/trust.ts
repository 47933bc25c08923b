import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { ROLES } from '@gatehouse/tokens/scopes';
import type { Audit } from '../audit/audit.ts';
import type { Application, ApplicationStore, Trust } from './application.ts';
import { type ApplicationWrites, retried } from './application-writes.ts';
import type { FindOwner, Manager, Owner } from './ownership.ts';

/**
 * The trust in applications that act in their own right. It is granted by an admin, together with the scopes, and rests on
 * the owner: it ends when their account is deactivated or deleted, or has a lower role than at the grant.
 */
export type Trusts = {
  /** The trust that a manager grants to an application. Throws `forbidden` unless that is an admin, and `invalid`. */
  grantedBy(manager: Manager, application: Pick<Application, 'owner'>): Promise<Trust>;
  /** Ends the trust in an application, its tokens and its API keys, unless its owner still is what it rests on. */
  endUnearned(id: string, owner: Owner | undefined): Promise<void>;
};

export function createTrusts(options: {
  store: Pick<ApplicationStore, 'findNow'>;
  accounts: { find: FindOwner };
  audit: Pick<Audit, 'record'>;
  writes: ApplicationWrites;
}): Trusts {
  const { store, accounts, audit, writes } = options;
  return {
    async grantedBy(manager, { owner: id }) {
      const grantor = await accounts.find(manager.id);
      // By the account, as the token may be a moment older.
      if (grantor?.status !== 'active' || grantor.role !== 'admin') throw onlyAdminsTrust();
      const owner = id === null ? undefined : await accounts.find(id);
      if (id !== null && owner?.status !== 'active') {
        throw invalidFields([{ field: 'trusted', message: 'requires an owner with an active account' }]);
      }
      return { by: manager.id, at: new Date(), ownerRole: owner?.role ?? 'user' };
    },

    async endUnearned(id, owner) {
      const ended = await retried(async () => {
        const before = await store.findNow(id);
        if (before === undefined || isEarned(before, owner)) return false;
        return writes.change(before, { trusted: false });
      });
      if (ended === false) return;
      await audit.record({
        action: 'application.changed',
        client: id,
        ...(ended.owner === null ? {} : { subject: ended.owner }),
        details: { trusted: false, cause: 'owner' },
      });
    },
  };
}

export function onlyAdminsTrust(): ServiceError {
  return new ServiceError('forbidden', 'Only an admin can decide whether an application is trusted.');
}

/** Whether the trust in an application, if there is any, still rests on its owner. Without one it is the operator's own. */
function isEarned({ owner: id, trust }: Application, owner: Owner | undefined): boolean {
  if (id === null || trust === undefined) return true;
  return owner?.status === 'active' && ROLES.indexOf(owner.role) >= ROLES.indexOf(trust.ownerRole);
}
