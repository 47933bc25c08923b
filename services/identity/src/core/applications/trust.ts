import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { ROLES } from '@gatehouse/tokens/scopes';
import type { Audit } from '../audit/audit.ts';
import type { Authority } from '../authority/authority.ts';
import { retried } from '../optimistic-writes.ts';
import type { Application, ApplicationStore, Trust } from './application.ts';
import type { ApplicationWrites } from './application-writes.ts';
import type { FindOwner, Manager, Owner } from './ownership.ts';

/**
 * The trust in applications that act in their own right. It is granted by an admin, together with the scopes. It rests on that admin, who
 * must still be able to grant it, and on the owner: it ends when their account is deactivated or deleted, or has a lower role than at the
 * grant.
 */
export type Trusts = {
  /** The trust that a manager grants to an application. Throws `forbidden` unless that is an admin, and `invalid`. */
  grantedBy(manager: Manager, application: Pick<Application, 'id' | 'owner'>): Promise<Trust>;
  /** Ends the trust in an application, its tokens and its API keys, unless it still rests on its owner and the admin who granted it. */
  endIfUnsupported(id: string): Promise<void>;
};

export function createTrusts(options: {
  store: Pick<ApplicationStore, 'findNow'>;
  accounts: { find: FindOwner };
  authority: Pick<Authority, 'give' | 'giverOf'>;
  audit: Pick<Audit, 'record'>;
  writes: ApplicationWrites;
}): Trusts {
  const { store, accounts, authority, audit, writes } = options;

  /** The person whose change has ended the trust; undefined while it holds. The operator's own application has no owner. */
  async function causeOfEnd({ owner: id, trust }: Application): Promise<'owner' | 'admin' | undefined> {
    if (trust === undefined) return undefined;
    const owner = id === null ? undefined : await accounts.find(id);
    if (id !== null && !isAsAtGrant(owner, trust)) return 'owner';
    const { by, epoch } = trust;
    return by === null || (await authority.giverOf('trust', { by, epoch })) ? undefined : 'admin';
  }

  return {
    async grantedBy(manager, application) {
      const { owner: id } = application;
      const grantor = await accounts.find(manager.id);
      // By the account, as the token may be a moment older.
      if (grantor?.status !== 'active' || grantor.role !== 'admin') throw onlyAdminsTrust();
      const owner = id === null ? undefined : await accounts.find(id);
      if (id !== null && owner?.status !== 'active') {
        throw invalidFields([{ field: 'trusted', message: 'requires an owner with an active account' }]);
      }
      const { by, epoch } = await authority.give('trust', manager, application);
      return { by, epoch, at: new Date(), ownerRole: owner?.role ?? 'user' };
    },

    async endIfUnsupported(id) {
      let cause: Awaited<ReturnType<typeof causeOfEnd>>;
      const ended = await retried(async () => {
        const before = await store.findNow(id);
        cause = before && (await causeOfEnd(before));
        if (before === undefined || cause === undefined) return false;
        return writes.change(before, { trusted: false });
      });
      if (ended === false) return;
      await audit.record({
        action: 'application.changed',
        client: id,
        ...(ended.owner === null ? {} : { subject: ended.owner }),
        details: { trusted: false, cause },
      });
    },
  };
}

export function onlyAdminsTrust(): ServiceError {
  return new ServiceError('forbidden', 'Only an admin can decide whether an application is trusted.');
}

function isAsAtGrant(owner: Owner | undefined, { ownerRole }: Trust): boolean {
  return owner?.status === 'active' && ROLES.indexOf(owner.role) >= ROLES.indexOf(ownerRole);
}
