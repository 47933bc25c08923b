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
/** The application or resource that a capability belongs to. */
type Owned = { id?: string; owner: string | null };
/** A membership: somebody has given it, and its person has accepted it unless it is pending. */
type Membership = {
  userId: string;
  role: ApplicationRole;
  isPending: boolean;
  given: Given | undefined;
  accepted: (Pick<Given, 'by' | 'epoch'> & Partial<Given>) | undefined;
};

export type Authority<G extends Giver = Giver> = {
  /**
   * The stamp of a capability of this kind that a person gives. An application with an ID then is among those in which they have given
   * something. Throws `unauthenticated` when the account has changed since the credential of the request was issued: what
   * ends access must not be overtaken by a request.
   */
  give(kind: GivenCapability, person: Authenticated, of?: Owned): Promise<Given>;
  /** The same for an account that was just read, without the part that rests on the owner. */
  givenBy(kind: GivenCapability, account: Giver, of?: Owned): Given;
  /**
   * The giver's account while they could give the capability again with the authority that they had then; undefined once it has ended.
   * `of` is what it belongs to; of a kind that needs a role in an application, that application.
   */
  giverOf(
    kind: GivenCapability,
    given: Pick<Given, 'by' | 'epoch'> & Partial<Given>,
    of?: Owned,
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

  /** The role of a membership that a person has accepted and that still holds. */
  async function roleOfMember(application: Managed, id: string): Promise<ApplicationRole | undefined> {
    const member = await members.find(application.id, id);
    if (member === undefined || !(await authority.hasAccepted(member))) return undefined;
    const given = member.given ?? givenByOwner(application);
    const isGiven = given === undefined || (await authority.giverOf('member', given, application));
    return isGiven ? member.role : undefined;
  }

  async function isDeveloper(of: Owned | undefined, person: string): Promise<boolean> {
    if (of?.id === undefined) return false;
    const role = await roleOfMember({ id: of.id, owner: of.owner }, person);
    return role !== undefined && includes(role, 'developer');
  }

  const authority: Authority<G> = {
    givenBy: (kind, account, of) => ({
      ...{ by: account.id, epoch: epochOf(kind, account), ownerEpoch: undefined },
      adminEpoch:
        of !== undefined && of.owner !== account.id && account.role === 'admin'
          ? account.admin_epoch
          : undefined,
      role: account.role,
      madeBy: undefined,
    }),

    async give(kind, { id, epoch }, of) {
      // Before the account is read: a change of it after that finds what is given here.
      if (of?.id !== undefined && of.owner !== id) await noteGiver(of.id, id);
      const account = await readAccount(id);
      if (account?.epoch !== epoch) {
        throw unauthenticated('The access token has been revoked.', 'invalid_token');
      }
      const owner = isOfAnother(of, id) ? await readAccount(of.owner) : undefined;
      // Least authority: what a member could give ends with the membership, although the member is an admin.
      const asMember = AUTHORITY[kind].needs === 'developer' && (await isDeveloper(of, id));
      const given = authority.givenBy(kind, account, asMember ? undefined : of);
      return { ...given, ownerEpoch: owner && epochOf(kind, owner) };
    },

    async giverOf(kind, { by, epoch, ownerEpoch, adminEpoch }, of) {
      const giver = await findAccount(by);
      if (giver?.status !== 'active' || epoch < epochOf(kind, giver)) return undefined;
      if (ownerEpoch !== undefined && isOfAnother(of, by)) {
        const owner = await findAccount(of.owner);
        if (owner === undefined || ownerEpoch < epochOf(kind, owner)) return undefined;
      }
      const { needs, restsOn } = AUTHORITY[kind];
      if (needs === 'admin') return giver.role === 'admin' ? giver : undefined;
      // As the owner, or as an admin who has been one ever since.
      if (of === undefined ? needs === 'account' : of.owner === by) return giver;
      const isOfAdmin =
        restsOn.some((it) => it === 'epoch') || (adminEpoch !== undefined && adminEpoch >= giver.admin_epoch);
      if (of !== undefined && giver.role === 'admin' && isOfAdmin) return giver;
      // Never by a membership, which has a giver in turn: two people who gave each other theirs would have nobody else to rest on.
      return needs === 'developer' && (await isDeveloper(of, by)) ? giver : undefined;
    },

    async roleOf(application, { id, role }) {
      return role === 'admin' || application.owner === id ? 'owner' : roleOfMember(application, id);
    },

    async hasAccepted({ userId, isPending, accepted = { by: userId, epoch: 0 } }) {
      return !isPending && (await authority.giverOf('acceptance', accepted)) !== undefined;
    },
  };
  return authority;
}

/** The giver of what was stored without one: the owner, at epoch 0. Undefined for applications of the operator. */
export function givenByOwner({ owner }: Pick<Managed, 'owner'>): Given | undefined {
  return owner === null
    ? undefined
    : {
        by: owner,
        epoch: 0,
        ownerEpoch: undefined,
        adminEpoch: undefined,
        role: undefined,
        madeBy: undefined,
      };
}

function isOfAnother(of: Owned | undefined, person: string): of is Owned & { owner: string } {
  return of !== undefined && of.owner !== null && of.owner !== person;
}

/** Whether a role in an application includes another one. */
export function includes(role: ApplicationRole, needed: ApplicationRole): boolean {
  return APPLICATION_ROLES.indexOf(role) >= APPLICATION_ROLES.indexOf(needed);
}

function epochOf(kind: GivenCapability, account: Giver): number {
  return AUTHORITY[kind].restsOn.reduce((sum, name) => sum + account[name], 0);
}
