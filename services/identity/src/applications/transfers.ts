import type { RateLimiter } from '@gatehouse/http/rate-limit';
import { invalidFields } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import { isId } from '@gatehouse/kit/ids';
import { ROLES, type Role } from '@gatehouse/tokens/scopes';
import type { Audit } from '../audit/audit.ts';
import type { ApiKeyStore } from './api-key.ts';
import { type Application, type ApplicationStore, MAX_APPLICATIONS } from './application.ts';
import { type ApplicationWrites, retried } from './application-writes.ts';
import { findManaged, type Manager, recordBy } from './ownership.ts';

/** Who may receive an application. */
export type Recipient = { id: string; role: Role; status: 'active' | 'inactive' };

export type Transfers = {
  /**
   * Gives an application to another person, by their id, username or verified address. What it authenticates by, its tokens,
   * its trust and the address that is told of sign-outs end: whoever holds them must not act for the new owner, or learn of
   * people who sign in. Redirect URIs stay, and the new owner is told to check them. Only admins give one to somebody with a
   * higher role than their own: people who sign in to it have at most its owner's role. Throws `invalid`, `rate_limited`
   * when the recipient has been given many, and `conflict` when they have MAX_APPLICATIONS.
   */
  transfer(manager: Manager, id: string, to: string): Promise<Application>;
};

/** Wrong recipients say who exists, so that an admin is not limited, and others are. */
export const RECIPIENTS = { name: 'recipients', quota: 20, seconds: 3600 };
/** How many one person is given: nobody asked them, and the places they take are few. */
export const RECEIVED = { name: 'received applications', quota: 10, seconds: 86_400 };

export function createTransfers(options: {
  store: Pick<ApplicationStore, 'findNow' | 'transfer'>;
  keys: Pick<ApiKeyStore, 'removeAll'>;
  accounts: {
    find(id: string): Promise<Omit<Recipient, 'id'> | undefined>;
    lookUp(login: string): Promise<Recipient | undefined>;
  };
  writes: Pick<ApplicationWrites, 'revoke'>;
  audit: Pick<Audit, 'record'>;
  attempts: Pick<RateLimiter, 'count'>;
  received: Pick<RateLimiter, 'count'>;
  /** Tells both people. Never rejects. */
  notifyTransfer(application: Pick<Application, 'name'>, people: { from: string | null; to: string }): void;
}): Transfers {
  const { store, keys, accounts, writes, audit, attempts, received } = options;

  async function recipientOf(manager: Manager, { owner }: Application, to: string): Promise<string> {
    const found = isId('usr', to) ? await accounts.find(to) : await accounts.lookUp(to);
    const recipient = found && { id: to, ...found };
    const isHigher = recipient && ROLES.indexOf(recipient.role) > ROLES.indexOf(manager.role);
    if (recipient?.status !== 'active' || isHigher) {
      const message = 'is nobody to whom you can transfer an application';
      throw invalidFields([{ field: 'to', message }]);
    }
    if (recipient.id === owner) throw invalidFields([{ field: 'to', message: 'is its owner already' }]);
    return recipient.id;
  }

  return {
    async transfer(manager, id, to) {
      await findManaged(store, manager, id);
      if (manager.role !== 'admin') await attempts.count(manager.id);
      return retried(async () => {
        const before = await findManaged(store, manager, id);
        const recipient = await recipientOf(manager, before, to);
        if (manager.role !== 'admin') await received.count(recipient);
        const application = await store.transfer(before, recipient);
        if (application === 'full') {
          throw new ServiceError('conflict', `They already have ${MAX_APPLICATIONS} applications.`);
        }
        if (application === undefined) return undefined;
        await keys.removeAll(id);
        await writes.revoke([{ application }]);
        const details = { from: before.owner, to: recipient };
        await recordBy(manager, audit, { action: 'application.transferred', client: id, details });
        options.notifyTransfer(application, details);
        return application;
      });
    },
  };
}
