import type { Role } from '@gatehouse/tokens/scopes';
import { APPLICATION_ROLES, type ApplicationRole } from './application-role.ts';
import { type AccountEpoch, AUTHORITY, type GivenCapability } from './authority-table.ts';
import type { Given } from './given.ts';

/** The account of somebody who gives capabilities. */
export type Giver = { id: string; role: Role; status: 'active' | 'inactive' } & Record<AccountEpoch, number>;
/** An application, as far as it matters here. */
type Managed = { id: string; owner: string | null };
type FindMember = (
  clientId: string,
  userId: string,
) => Promise<{ role: ApplicationRole; isPending: boolean; given: Given | undefined } | undefined>;

export type Authority<G extends Giver = Giver> = {
  /** What a capability of this kind records that this person gives now, in an application if it belongs to one. */
  give(kind: GivenCapability, person: string, application?: Managed): Promise<Given>;
  /** The same for an account that was just read. */
  givenBy(kind: GivenCapability, account: Giver): Given;
  /**
   * The account of the person who gave a capability, while they could give it again with the authority that they had then. Undefined: it has
   * ended. `application` is the one that it belongs to, if it belongs to one.
   */
  giverOf(
    kind: GivenCapability,
    given: Pick<Given, 'by' | 'epoch'> & Partial<Given>,
    application?: Managed,
  ): Promise<G | undefined>;
  /** The role that a person has in an application: the owner's and an admin's, or that of an accepted membership that still holds. */
  roleOf(application: Managed, person: Pick<Giver, 'id' | 'role'>): Promise<ApplicationRole | undefined>;
};

/** Whether standing capabilities hold: one rule for everything that lets somebody act (ADR 41). */
export function createAuthority<G extends Giver>(options: {
  /** May have been read some seconds ago, unless the account has changed since. */
  findAccount(id: string): Promise<G | undefined>;
  readAccount(id: string): Promise<G | undefined>;
  members: { find: FindMember };
}): Authority<G> {
  const { findAccount, readAccount, members } = options;

  const authority: Authority<G> = {
    givenBy: (kind, account) => ({ by: account.id, epoch: epochOf(kind, account), ownerEpoch: undefined }),

    async give(kind, person, application) {
      const account = await readAccount(person);
      const owner = isOfAnother(application, person) ? await readAccount(application.owner) : undefined;
      // The token of the request may be a moment older than the end of the account, in which case nothing that it gives holds.
      const given = account
        ? authority.givenBy(kind, account)
        : { by: person, epoch: -1, ownerEpoch: undefined };
      return { ...given, ownerEpoch: owner && epochOf(kind, owner) };
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
      const role = application && (await authority.roleOf(application, giver));
      return role !== undefined && includes(role, needs) ? giver : undefined;
    },

    async roleOf(application, person) {
      if (person.role === 'admin' || application.owner === person.id) return 'owner';
      const member = await members.find(application.id, person.id);
      if (member === undefined || member.isPending) return undefined;
      const given = member.given ?? givenByOwner(application);
      const isGiven = given === undefined || (await authority.giverOf('member', given, application));
      return isGiven ? member.role : undefined;
    },
  };
  return authority;
}

/** Who gave what was stored by a version that did not record it: the owner, before anything ended. Undefined for the operator's own. */
export function givenByOwner({ owner }: Pick<Managed, 'owner'>): Given | undefined {
  return owner === null ? undefined : { by: owner, epoch: 0, ownerEpoch: undefined };
}

function isOfAnother(
  application: Managed | undefined,
  person: string,
): application is Managed & { owner: string } {
  return application !== undefined && application.owner !== null && application.owner !== person;
}

/** Whether a role in an application allows what takes another one. */
export function includes(role: ApplicationRole, needed: ApplicationRole): boolean {
  return APPLICATION_ROLES.indexOf(role) >= APPLICATION_ROLES.indexOf(needed);
}

function epochOf(kind: GivenCapability, account: Giver): number {
  return AUTHORITY[kind].restsOn.reduce((sum, name) => sum + account[name], 0);
}
