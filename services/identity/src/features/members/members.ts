import type { RateLimiter } from '@gatehouse/api/http/rate-limit';
import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { isId, isUserId } from '@gatehouse/core/ids';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { Application } from '../../core/applications/application.ts';
import {
  MAX_MEMBERS,
  MAX_MEMBERSHIPS,
  type Member,
  type MemberRole,
  type MemberStore,
} from '../../core/applications/member.ts';
import {
  findManaged,
  type ManagedApplications,
  type Manager,
  recordBy,
} from '../../core/applications/ownership.ts';
import type { Audit } from '../../core/audit/audit.ts';

/** Wrong names say who exists, so that an admin is not limited, and others are. */
export const NAMED_MEMBERS = { name: 'named members', quota: 20, seconds: 3600 };

/** A member, and what they are called; null when the account is just being deleted. */
export type NamedMember = Omit<Member, 'id'> & { username: string | null };

export type Members = {
  list(manager: Manager, clientId: string): Promise<NamedMember[]>;
  /** Adds somebody by their id, username or verified address, or changes their role. Throws `invalid`, `conflict` and `rate_limited`. */
  add(manager: Manager, clientId: string, user: string, role: MemberRole): Promise<NamedMember>;
  /** Members may leave; others are removed by the owner. */
  remove(manager: Manager, clientId: string, userId: string): Promise<void>;
};

/** Who takes part in an application beside its owner. */
export function createMembers(
  options: ManagedApplications & {
    members: MemberStore;
    accounts: Pick<Accounts, 'find' | 'lookUp'>;
    audit: Pick<Audit, 'record'>;
    attempts: Pick<RateLimiter, 'count'>;
    /** Tells somebody by mail. Never rejects. */
    notify(userId: string, application: Application): void;
    /** Tells the other services that somebody sees other applications now. */
    changed(clientId: string): Promise<void>;
  },
): Members {
  const { members, accounts, audit } = options;

  async function named(manager: Manager, user: string): Promise<Account> {
    if (manager.role !== 'admin') await options.attempts.count(manager.id);
    // An id that an imported account brought along may look like a name.
    const found =
      (isUserId(user) ? await accounts.find(user) : undefined) ??
      (isId('usr', user) ? undefined : await accounts.lookUp(user));
    if (found?.status === 'active') return found;
    throw invalidFields([
      { field: 'user', message: 'No active account has this username, confirmed email address or user ID.' },
    ]);
  }

  return {
    async list(manager, clientId) {
      await findManaged(options, manager, clientId, 'viewer');
      return Promise.all(
        (await members.of(clientId)).map(async (member) => {
          const account = await accounts.find(member.userId);
          return { ...member, username: account?.username ?? null };
        }),
      );
    },

    async add(manager, clientId, user, role) {
      const application = await findManaged(options, manager, clientId, 'owner');
      const { id: userId, username } = await named(manager, user);
      if (userId === application.owner) {
        throw invalidFields([{ field: 'user', message: 'Enter a user other than the owner.' }]);
      }
      const before = await members.find(clientId, userId);
      if (before === undefined && (await members.clientIdsOf(userId)).length >= MAX_MEMBERSHIPS) {
        const message = `This user is a member of ${MAX_MEMBERSHIPS} applications already.`;
        throw new ServiceError('conflict', message);
      }
      if (!(await members.put(clientId, userId, role))) {
        throw new ServiceError(
          'conflict',
          `An application can have ${MAX_MEMBERS} members. Remove one first.`,
        );
      }
      // A transfer removes the members; one who was added meanwhile must not stay with the new owner.
      if ((await options.store.findNow(clientId))?.owner !== application.owner) {
        await members.remove(clientId, userId);
        throw new ServiceError('conflict', 'The application has another owner now.');
      }
      await recordBy(manager, audit, {
        action: 'member.added',
        client: clientId,
        details: { user: userId, role },
      });
      await options.changed(clientId);
      if (before === undefined) options.notify(userId, application);
      const member = await members.find(clientId, userId);
      return { clientId, userId, role, createdAt: new Date(), ...member, username };
    },

    async remove(manager, clientId, userId) {
      await findManaged(options, manager, clientId, userId === manager.id ? 'viewer' : 'owner');
      if (!(await members.remove(clientId, userId)))
        throw new ServiceError('not_found', 'There is no such member.');
      await recordBy(manager, audit, {
        action: 'member.removed',
        client: clientId,
        details: { user: userId },
      });
      await options.changed(clientId);
    },
  };
}
