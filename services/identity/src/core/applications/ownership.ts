import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import { ceilingOf, ROLES, type Role } from '@gatehouse/tokens/scopes';
import type { Audit, Origin } from '../audit/audit.ts';
import type { ApplicationRole } from '../authority/application-role.ts';
import { type Authority, type Giver, givenByOwner, includes } from '../authority/authority.ts';
import type { GivenCapability } from '../authority/authority-table.ts';
import type { Given } from '../authority/given.ts';
import type { Application, ApplicationStore } from './application.ts';

/** The person who manages applications, and how. */
export type Manager = {
  id: string;
  role: Role;
  /** That of the account in the credential of the request. */
  epoch: number;
  clientId: string;
  origin: Origin;
};

/** The account that owns an application, as far as it matters here. */
export type Owner = { role: Role; status: 'active' | 'inactive'; epoch: number };
export type FindOwner<O extends Owner = Owner> = (id: string) => Promise<O | undefined>;

/** The current permissions of the owner of an application, which the application and its keys never exceed. */
export type OwnerPermissions<O extends Owner = Owner> = {
  /** Undefined where no owner limits the application, or the owner is gone. */
  owner: O | undefined;
  /** False when the owner is inactive or gone: then the application may do nothing. */
  active: boolean;
  /** The ID of the person who gave the credential, if it was not the owner. */
  givenBy?: string;
  /** The scopes of a list that the owner may have, in the list's order. */
  within(scopes: readonly string[]): string[];
};

/** An application never exceeds its owner, unless it is the operator's own or an admin has marked it trusted. */
export async function ownerPermissions<O extends Owner>(
  { owner: id, trusted }: Pick<Application, 'owner' | 'trusted'>,
  findOwner: FindOwner<O>,
): Promise<OwnerPermissions<O>> {
  if (id === null || trusted) return { owner: undefined, active: true, within: (scopes) => [...scopes] };
  const owner = await findOwner(id);
  return {
    owner,
    active: owner?.status === 'active',
    within: (scopes) => (owner === undefined ? [] : withinCeiling(scopes, owner.role)),
  };
}

/** The role that a person has in an application: never more than its owner's. */
export function roleIn({ owner }: Pick<OwnerPermissions, 'owner'>, person: { role: Role }): Role {
  return owner === undefined ? person.role : lowerRole(person.role, owner.role);
}

/** The role that may do less. */
export function lowerRole(a: Role, b: Role): Role {
  return ROLES.indexOf(a) < ROLES.indexOf(b) ? a : b;
}

/** The scopes of a list that the role allows, in the list's order. */
export function withinCeiling(scopes: readonly string[], role: Role): string[] {
  const ceiling: readonly string[] = ceilingOf(role);
  return scopes.filter((scope) => ceiling.includes(scope));
}

/**
 * The permissions of a credential are those of its application. They never exceed the role that the giver had when it was made, nor, for a
 * member's credential, the member's present role. Trust covers only credentials that the owner or an admin made, and no credential that was
 * taken over, which is not the owner for their account either: its maker still knows it. Undefined once the credential has ended. `given` says who made it; where it is undefined,
 * the operator or the owner did. In a trusted application such a credential needs no account: it works while users is away.
 */
export async function credentialPermissions<O extends Owner & Giver>(
  application: Pick<Application, 'id' | 'owner' | 'trusted'>,
  credential: { kind: GivenCapability; given?: Given | undefined },
  { authority, findOwner }: { authority: Pick<Authority<O>, 'giverOf'>; findOwner: FindOwner<O> },
): Promise<OwnerPermissions<O> | undefined> {
  const given = giverNeeded(application, credential);
  const giver = given && (await authority.giverOf(credential.kind, given, application));
  if (given !== undefined && giver === undefined) return undefined;
  if (giver === undefined) return ownerPermissions(application, findOwner);
  const role = lowerRole(giver.role, given?.role ?? giver.role);
  const isTakenOver = given?.madeBy !== undefined;
  const isOwners = giver.id === application.owner;
  if (!isTakenOver && (isOwners || role === 'admin')) {
    const permissions = boundedBy(role, await ownerPermissions(application, findOwner));
    return isOwners ? permissions : { ...permissions, givenBy: giver.id };
  }
  const owner = application.owner === null ? giver : await findOwner(application.owner);
  const active = owner?.status === 'active';
  return boundedBy(role, { owner, active, givenBy: giver.id, within: () => [] });
}

/** Those of an owner, with at most this role. Where no owner limits an application, no role does. */
function boundedBy<O extends Owner>(most: Role, permissions: OwnerPermissions<O>): OwnerPermissions<O> {
  const { owner } = permissions;
  if (owner === undefined) return permissions;
  const role = lowerRole(owner.role, most);
  return { ...permissions, owner: { ...owner, role }, within: (scopes) => withinCeiling(scopes, role) };
}

/** The giver who must still be able to give a credential for it to be used. Undefined where it needs no account. */
export function giverNeeded(
  application: Pick<Application, 'owner' | 'trusted'>,
  { given }: { given?: Given | undefined },
): Given | undefined {
  return given ?? (application.trusted ? undefined : givenByOwner(application));
}

/** Where applications are found, and who may do what with them. */
export type ManagedApplications = {
  store: Pick<ApplicationStore, 'findNow'>;
  authority: Pick<Authority, 'roleOf'>;
};

/**
 * An application that the manager may use like this. Throws `not_found` for one that they may not see, which does not reveal whether
 * somebody else's exists, and `forbidden` for a member with a lower role.
 */
export async function findManaged(
  { store, authority }: ManagedApplications,
  manager: Pick<Manager, 'id' | 'role'>,
  id: string,
  needed: ApplicationRole,
): Promise<Application> {
  const application = await store.findNow(id);
  const role = application && (await authority.roleOf(application, manager));
  if (application === undefined || role === undefined) {
    throw new ServiceError('not_found', 'There is no such application.');
  }
  if (includes(role, needed)) return application;
  const allowed =
    needed === 'owner' ? 'the owner of this application' : 'the owner and the developers of this application';
  const message = `Only ${allowed} can do this. Your role is ${role}.`;
  throw new ServiceError('forbidden', message);
}

/** Records what a manager has done to an application. */
export async function recordBy(
  { id: subject, origin, clientId: by }: Manager,
  audit: Pick<Audit, 'record'>,
  entry: { action: AuditAction; client: string; details?: object },
): Promise<void> {
  await audit.record({ ...entry, origin, subject, details: { ...entry.details, by } });
}

/**
 * Whether a manager creates something for themselves. Throws `invalid` unless an admin creates it for somebody else whose account is
 * active.
 */
export async function mayOwn(
  findOwner: FindOwner,
  manager: Pick<Manager, 'id' | 'role'>,
  owner: string,
): Promise<boolean> {
  if (owner === manager.id) return true;
  const refuse = (message: string) => invalidFields([{ field: 'owner', message }]);
  if (manager.role !== 'admin') throw refuse('can be somebody else for admins only');
  if ((await findOwner(owner))?.status !== 'active') throw refuse('is no active user');
  return false;
}
