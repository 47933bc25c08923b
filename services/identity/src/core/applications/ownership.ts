import { ServiceError } from '@gatehouse/core/errors';
import { ceilingOf, ROLES, type Role } from '@gatehouse/tokens/scopes';
import type { Audit, AuditAction, Origin } from '../audit/audit.ts';
import type { Application, ApplicationStore } from './application.ts';
import { APPLICATION_ROLES, type ApplicationRole, type MemberStore } from './member.ts';

/** The person who manages applications, and how. */
export type Manager = { id: string; role: Role; clientId: string; origin: Origin };

/** The account that owns an application, as far as it matters here. */
export type Owner = { role: Role; status: 'active' | 'inactive'; epoch: number };
export type FindOwner<O extends Owner = Owner> = (id: string) => Promise<O | undefined>;

/** The current permissions of the owner of an application, which the application and its keys never exceed. */
export type OwnerPermissions<O extends Owner = Owner> = {
  /** Undefined where no owner limits the application, or the owner is gone. */
  owner: O | undefined;
  /** False when the owner is inactive or gone: then the application may do nothing. */
  active: boolean;
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

/** Where applications and their members are found. */
export type ManagedApplications = {
  store: Pick<ApplicationStore, 'findNow'>;
  members: Pick<MemberStore, 'find'>;
};

/**
 * An application that the manager may use like this. Throws `not_found` for one that they may not see, which does not reveal whether
 * somebody else's exists, and `forbidden` for a member with a lower role.
 */
export async function findManaged(
  { store, members }: ManagedApplications,
  manager: Pick<Manager, 'id' | 'role'>,
  id: string,
  needed: ApplicationRole,
): Promise<Application> {
  const application = await store.findNow(id);
  const isOwner = manager.role === 'admin' || application?.owner === manager.id;
  const role = isOwner ? 'owner' : (await members.find(id, manager.id))?.role;
  if (application === undefined || role === undefined) {
    throw new ServiceError('not_found', 'There is no such application.');
  }
  if (APPLICATION_ROLES.indexOf(role) >= APPLICATION_ROLES.indexOf(needed)) return application;
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
