import { unauthenticated } from '@gatehouse/tokens/caller';
import type { Role } from '@gatehouse/tokens/scopes';
import { APPLICATION_ROLES, type ApplicationRole } from './application-role.ts';
import { type AccountEpoch, AUTHORITY, type GivenCapability } from './authority-table.ts';
import type { Given } from './given.ts';

/** The account of somebody who gives capabilities. */
export type Giver = { id: string; role: Role; status: 'active' | 'inactive' } & Record<AccountEpoch, number>;
/** The person of a request, and the epoch of the account in the credential of the request. */
export type Authenticated = { id: string; epoch: number };
/** An application, as far as it matters here. */
type Managed = { id: string; owner: string | null };
/** A membership: somebody has given it, and its person has accepted it unless it is pending. */
type Membership = {
  userId: string;
  role: ApplicationRole;
  isPending: boolean;
  given: Given | undefined;
  accepted: Given | undefined;
};

export type Authority<G extends Giver = Giver> = {
  /**
   * The stamp of a capability of this kind that a person gives, in an application if it belongs to one, which then is among those in which
   * they have given something. Throws `unauthenticated` when the account has changed since the credential of the request was issued: what
   * ends access must not be overtaken by a request.
   */
  give(kind: GivenCapability, person: Authenticated, application?: Managed): Promise<Given>;
  /** The same for an account that was just read. */
  givenBy(kind: GivenCapability, account: Giver): Given;
  /**
   * The giver's account while they could give the capability again with the authority that they had then; undefined once it has ended.
   * `application` is the one that it belongs to, if it belongs to one.
   */
  giverOf(
    kind: GivenCapability,
    given: Pick<Given, 'by' | 'epoch'> & Partial<Given>,
    application?: Managed,
  ): Promise<G | undefined>;
  /** A person's role in an application: owner for its owner and for admins, otherwise that of an accepted membership that still holds. */
  roleOf(application: Managed, person: Pick<Giver, 'id' | 'role'>): Promise<ApplicationRole | undefined>;
  /** Whether the person of a membership has accepted it with the authority that they have now. */
  hasAccepted(membership: Pick<Membership, 'userId' | 'isPending' | 'accepted'>): Promise<boolean>;
};

/** Whether standing capabilities hold: one rule for everything that lets somebody act (ADR 41). */
export function createAuthority<G extends Giver>(options: {
  /** May have been read some seconds ago, unless the account has changed since. */
  findAccount(id: string): Promise<G | undefined>;
  readAccount(id: string): Promise<G | undefined>;
  members: { find(clientId: string, userId: string): Promise<Membership | undefined> };
  /** Notes that a person who is not the owner has given something in an application. */
  noteGiver(clientId: string, person: string): Promise<void>;
}): Authority<G> {
  const { findAccount, readAccount, members, noteGiver } = options;

  const authority: Authority<G> = {
    givenBy: (kind, account) => ({ by: account.id, epoch: epochOf(kind, account), ownerEpoch: undefined }),

    async give(kind, { id, epoch }, application) {
      // Before the account is read: a change of it after that finds what is given here.
      if (application !== undefined && application.owner !== id) await noteGiver(application.id, id);
      const account = await readAccount(id);
      if (account?.epoch !== epoch) {
        throw unauthenticated('The access token has been revoked.', 'invalid_token');
      }
      const owner = isOfAnother(application, id) ? await readAccount(application.owner) : undefined;
      return { ...authority.givenBy(kind, account), ownerEpoch: owner && epochOf(kind, owner) };
    },

    async giverOf(kind, { by, epoch, ownerEpoch }, application) {
      const giver = await findAccount(by);
      if (giver?.status !== 'active' || epoch < epochOf(kind, giver)) return undefined;
      if (ownerEpoch !== undefined && isOfAnother(application, by)) {
        const owner = await findAccount(application.owner);
        if (owner === undefined || ownerEpoch < epochOf(kind, owner)) return undefined;
      }
      const { needs } = AUTHORITY[kind];
      if (needs === 'account') return giver;
      if (needs === 'admin') return giver.role === 'admin' ? giver : undefined;
      // Never by a membership, which has a giver in turn: two people who gave each other theirs would have nobody else to rest on.
      if (needs === 'owner') return application && isOwner(application, giver) ? giver : undefined;
      const role = application && (await authority.roleOf(application, giver));
      return role !== undefined && includes(role, needs) ? giver : undefined;
    },

    async roleOf(application, person) {
      if (isOwner(application, person)) return 'owner';
      const member = await members.find(application.id, person.id);
      if (member === undefined || !(await authority.hasAccepted(member))) return undefined;
      const given = member.given ?? givenByOwner(application);
      const isGiven = given === undefined || (await authority.giverOf('member', given, application));
      return isGiven ? member.role : undefined;
    },

    async hasAccepted({ userId, isPending, accepted = { by: userId, epoch: 0, ownerEpoch: undefined } }) {
      return !isPending && (await authority.giverOf('acceptance', accepted)) !== undefined;
    },
  };
  return authority;
}

/** The giver of what an earlier version stored without one: the owner, at epoch 0. Undefined for applications of the operator. */
export function givenByOwner({ owner }: Pick<Managed, 'owner'>): Given | undefined {
  return owner === null ? undefined : { by: owner, epoch: 0, ownerEpoch: undefined };
}

/** Whether a person may do everything in an application. */
function isOwner({ owner }: Managed, { id, role }: Pick<Giver, 'id' | 'role'>): boolean {
  return role === 'admin' || owner === id;
}

function isOfAnother(
  application: Managed | undefined,
  person: string,
): application is Managed & { owner: string } {
  return application !== undefined && application.owner !== null && application.owner !== person;
}

/** Whether a role in an application includes another one. */
export function includes(role: ApplicationRole, needed: ApplicationRole): boolean {
  return APPLICATION_ROLES.indexOf(role) >= APPLICATION_ROLES.indexOf(needed);
}

function epochOf(kind: GivenCapability, account: Giver): number {
  return AUTHORITY[kind].restsOn.reduce((sum, name) => sum + account[name], 0);
}
