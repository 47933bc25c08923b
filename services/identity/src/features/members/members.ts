import type { RateLimiter } from '@gatehouse/api/http/rate-limit';
import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { isId, isUserId } from '@gatehouse/core/ids';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import { type Application, liveSecrets } from '../../core/applications/application.ts';
import type { ApplicationKeys } from '../../core/applications/application-keys.ts';
import type { Applications } from '../../core/applications/applications.ts';
import {
  MAX_INVITED,
  MAX_INVITED_BY_ONE,
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
import { type Authority, includes } from '../../core/authority/authority.ts';
import type { Given } from '../../core/authority/given.ts';
import {
  credentialsTakenOver,
  memberInvitationSent,
  memberInvited,
  memberLeft,
  memberRemoved,
} from './member-notices.ts';

/** Wrong names say who exists, so that an admin is not limited, and others are. */
export const NAMED_MEMBERS = { name: 'named members', quota: 20, seconds: 3600 };

/** How many invitations one person, who is no admin, sends to another: each sends a mail. */
export const INVITED = { name: 'invitations to one person', quota: 10, seconds: 86_400 };

/** A credential that a member has made, which ends with the membership unless the owner takes it over. */
export type MadeCredential = { id: string; kind: 'client_secret' | 'api_key'; name: string | null };

/** A member, and what they are called; null when the account is just being deleted. */
export type NamedMember = Omit<Member, 'id' | 'given' | 'accepted'> & {
  username: string | null;
  credentials: MadeCredential[];
};
/** A membership or an invitation, as its person sees it. */
export type Membership = Pick<Member, 'clientId' | 'role' | 'createdAt' | 'isPending'> & { name: string };

export type Members = {
  list(manager: Manager, clientId: string): Promise<NamedMember[]>;
  /**
   * Invites somebody by their id, username or verified address, or changes the role of a member. The credentials in `takenOver`
   * become those of the owner; a member who becomes a viewer loses the others. Throws `invalid`, `conflict` and `rate_limited`.
   */
  add(
    manager: Manager,
    clientId: string,
    member: { user: string; role: MemberRole; takenOver: readonly string[] },
  ): Promise<NamedMember>;
  /**
   * Members remove themselves, or the owner removes them and takes over the credentials in `takenOver`. The member's other
   * credentials end. Throws `invalid` if one is not the member's.
   */
  remove(manager: Manager, clientId: string, userId: string, takenOver: readonly string[]): Promise<void>;
  /** The memberships of a person, with those that wait to be accepted. */
  ofPerson(userId: string): Promise<Membership[]>;
  /** Also accepts again what ended with the person's authority. Throws `conflict` when they are a member of MAX_MEMBERSHIPS others. */
  accept(manager: Manager, clientId: string): Promise<void>;
};

type MemberOptions = ManagedApplications & {
  members: MemberStore;
  authority: Authority;
  applications: Pick<Applications, 'removeEnded' | 'changeGivers'>;
  applicationKeys: readonly Pick<ApplicationKeys, 'list'>[];
  accounts: Pick<Accounts, 'find' | 'lookUp'>;
  audit: Pick<Audit, 'record'>;
  attempts: Pick<RateLimiter, 'count'>;
  invited: Pick<RateLimiter, 'count'>;
  mails: Pick<AccountMails, 'notify'>;
  /** Makes the other services ask again which applications somebody sees. */
  changed(clientId: string): Promise<void>;
};

/** The members of applications, beside their owners. */
export function createMembers(options: MemberOptions): Members {
  const { members, accounts, audit, authority, applications, mails } = options;
  const { credentialsBy, takeOver } = createMadeCredentials(options);

  return {
    async list(manager, clientId) {
      const application = await findManaged(options, manager, clientId, 'viewer');
      const credentials = await credentialsBy(manager, application);
      const all = await members.of(clientId);
      const inForce = await Promise.all(all.map((it) => isInForce(authority, it, application)));
      return Promise.all(
        all
          .filter((_, i) => inForce[i])
          .map(async (member) => {
            const account = await accounts.find(member.userId);
            const made = credentials.get(member.userId) ?? [];
            const isPending = !(await authority.hasAccepted(member));
            return { ...member, isPending, username: account?.username ?? null, credentials: made };
          }),
      );
    },

    async add(manager, clientId, { user, role, takenOver }) {
      const application = await findManaged(options, manager, clientId, 'owner');
      const isMember = (await members.find(clientId, user)) !== undefined;
      const { id: userId, username } = await named(options, manager, user, isMember);
      if (userId === application.owner || userId === manager.id) {
        const message = 'Enter a user other than the owner and yourself.';
        throw invalidFields([{ field: 'user', message }]);
      }
      const found = await members.find(clientId, userId);
      const before = found && (await isInForce(authority, found, application)) ? found : undefined;
      if (before === undefined && manager.role !== 'admin')
        await options.invited.count(`${manager.id} ${userId}`);
      await takeOver(manager, application, userId, takenOver);
      const given = await giverOf(authority, manager, application, { before, role });
      const limit = manager.role === 'admin' ? MAX_INVITED : MAX_INVITED_BY_ONE;
      const invited = await authority.give('member_invitation', manager, application);
      await members.put({ clientId, userId, role, given, invited }, { id: manager.id, limit });
      await recordBy(manager, audit, {
        action: 'member.added',
        client: clientId,
        details: { user: userId, role, ...namesOf(takenOver) },
      });
      // The member may have become a viewer, whose credentials end; and the application may have been transferred meanwhile.
      await applications.removeEnded(clientId);
      const member = await members.find(clientId, userId);
      if (member === undefined) throw new ServiceError('conflict', 'The application has another owner now.');
      await options.changed(clientId);
      if (before === undefined) {
        void mails.notify(userId, memberInvited(application));
        if (application.owner !== null)
          void mails.notify(application.owner, memberInvitationSent(application));
      }
      const isPending = !(await authority.hasAccepted(member));
      return { ...member, isPending, username, credentials: [] };
    },

    async remove(manager, clientId, userId, takenOver) {
      const isOwn = userId === manager.id;
      const member = await members.find(clientId, userId);
      if (isOwn && member !== undefined) {
        // People also decline invitations, with which they have no role yet.
        if (takenOver.length > 0)
          throw new ServiceError('forbidden', 'Only the owner can take over credentials.');
      } else await findManaged(options, manager, clientId, 'owner');
      if (member === undefined) throw new ServiceError('not_found', 'There is no such member.');
      if (takenOver.length > 0) {
        const application = await findManaged(options, manager, clientId, 'owner');
        await takeOver(manager, application, userId, takenOver);
      }
      await members.remove(clientId, userId);
      await recordBy(manager, audit, {
        action: 'member.removed',
        client: clientId,
        details: { user: userId, ...namesOf(takenOver) },
      });
      await applications.removeEnded(clientId);
      await options.changed(clientId);
      const application = await options.store.findNow(clientId);
      if (application === undefined || member.isPending) return;
      if (!isOwn) void mails.notify(userId, memberRemoved(application));
      else if (application.owner !== null)
        void mails.notify(application.owner, memberLeft(application, userId));
    },

    ofPerson: (userId) => membershipsOf(options, userId),

    accept: (manager, clientId) => acceptMembership(options, manager, clientId),
  };
}

async function acceptMembership(options: MemberOptions, manager: Manager, clientId: string): Promise<void> {
  const { members, authority, audit } = options;
  const others = (await members.ofPerson(manager.id)).filter(
    (it) => !it.isPending && it.clientId !== clientId,
  );
  if (others.length >= MAX_MEMBERSHIPS) {
    const message = `You are a member of ${MAX_MEMBERSHIPS} applications already. Leave one first.`;
    throw new ServiceError('conflict', message);
  }
  const accepted = await authority.give('acceptance', manager);
  const member = await members.find(clientId, manager.id);
  const application = await options.store.findNow(clientId);
  const isOpen = member && application && (await isInForce(authority, member, application));
  if (!isOpen || !(await members.accept(clientId, manager.id, accepted))) {
    throw new ServiceError('not_found', 'There is no such invitation for you.');
  }
  await recordBy(manager, audit, { action: 'member.accepted', client: clientId });
  await options.changed(clientId);
}

async function named(
  { accounts, attempts }: Pick<MemberOptions, 'accounts' | 'attempts'>,
  manager: Manager,
  user: string,
  isMember: boolean,
): Promise<Account> {
  // The id of a member says nothing new, and a lower role must not have to wait.
  if (manager.role !== 'admin' && !isMember) await attempts.count(manager.id);
  // An id that an imported account brought along may look like a name.
  const found =
    (isUserId(user) ? await accounts.find(user) : undefined) ??
    (isId('usr', user) ? undefined : await accounts.lookUp(user));
  if (found?.status === 'active') return found;
  throw invalidFields([
    { field: 'user', message: 'No active account has this username, confirmed email address or user ID.' },
  ]);
}

/** The credentials that members have made, and taking them over. */
function createMadeCredentials(options: MemberOptions) {
  const { authority, applications, mails } = options;

  /** The credentials of an application, by the person who made each. */
  async function credentialsBy(
    manager: Manager,
    application: Application,
  ): Promise<Map<string, MadeCredential[]>> {
    const keys = (
      await Promise.all(options.applicationKeys.map((it) => it.list(manager, application.id)))
    ).flat();
    const made = [
      ...liveSecrets(application).map((it) => ({ ...it, kind: 'client_secret' as const, name: it.label })),
      ...keys.map((it) => ({ ...it, kind: 'api_key' as const })),
    ];
    const by = Map.groupBy(made, ({ given }) => given?.by ?? '');
    return new Map(
      [...by].map(([person, those]) => [person, those.map(({ id, kind, name }) => ({ id, kind, name }))]),
    );
  }

  /** Makes credentials of a member those of the owner. Throws `invalid` if one is not the member's. */
  async function takeOver(
    manager: Manager,
    application: Application,
    member: string,
    ids: readonly string[],
  ): Promise<void> {
    if (ids.length === 0) return;
    const made = (await credentialsBy(manager, application)).get(member);
    if (!ids.every((id) => made?.some((it) => it.id === id))) {
      const message = 'Name only credentials that the member has made.';
      throw invalidFields([{ field: 'take_over', message }]);
    }
    const given = await authority.give('api_key', manager, application);
    await applications.changeGivers(application.id, new Set(ids), () => given);
    if (application.owner !== null && application.owner !== manager.id)
      void mails.notify(application.owner, credentialsTakenOver(application));
  }

  return { credentialsBy, takeOver };
}

const namesOf = (takenOver: readonly string[]) => (takenOver.length === 0 ? {} : { taken_over: takenOver });

/** The giver of a membership with this role: an admin who gives no more than a member has leaves it the gift that it is. */
async function giverOf(
  authority: Authority,
  manager: Manager,
  application: Application,
  { before, role }: { before: Member | undefined; role: MemberRole },
): Promise<Given> {
  const isMore = before === undefined || !includes(before.role, role);
  const kept = isMore || manager.id === application.owner ? undefined : before.given;
  const holds = kept !== undefined && (await authority.giverOf('member', kept, application)) !== undefined;
  return holds ? kept : authority.give('member', manager, application);
}

/** Whether a membership has been accepted, with the authority that its person has now, or its inviter could still send the invitation. */
async function isInForce(authority: Authority, member: Member, application: Application): Promise<boolean> {
  const { invited } = member;
  if (invited === undefined || (await authority.hasAccepted(member))) return true;
  return (await authority.giverOf('member_invitation', invited, application)) !== undefined;
}

async function membershipsOf(
  { members, store, authority }: MemberOptions,
  userId: string,
): Promise<Membership[]> {
  const found = await members.ofPerson(userId);
  const shown = await Promise.all(
    found.map(async (member) => {
      const { clientId, role, createdAt } = member;
      const application = await store.findNow(clientId);
      if (application === undefined || !(await isInForce(authority, member, application))) return undefined;
      const isPending = !(await authority.hasAccepted(member));
      return { clientId, role, createdAt, isPending, name: application.name };
    }),
  );
  return shown.filter((it) => it !== undefined);
}
