import { ServiceError } from '@gatehouse/core/errors';
import type { UserRole } from './user.ts';

/** The caller: a person, limited by role and ownership, or a machine (undefined), which is not. */
export type Actor = { person: { id: string; role: UserRole } | undefined; givenBy?: string };

/**
 * The rules of access to users, in addition to the scope that an operation needs. Each function throws `forbidden`, even
 * for a user that does not exist: a caller without access must not learn whether it does.
 */

export function authorizeList({ person }: Actor): void {
  if (person !== undefined && person.role === 'user')
    throw forbidden('list users', 'editors, admins and trusted applications');
}

export function authorizeCreate({ person }: Actor): void {
  if (person !== undefined && person.role !== 'admin')
    throw forbidden('create users', 'admins and trusted applications');
}

export function authorizeRead(actor: Actor, id: string): void {
  if (actor.person?.role === 'user' && !isOwn(actor, id))
    throw forbidden('read this user', 'the person, editors, admins and trusted applications');
}

export function authorizeChange(actor: Actor, id: string): void {
  if (!hasAdminRights(actor) && !isOwn(actor, id))
    throw forbidden('change this user', 'the person, admins and trusted applications');
}

/** Whether an admin acts on what is not theirs. */
export function actsForOthers({ person }: Actor, id?: string): boolean {
  return person?.role === 'admin' && person.id !== id;
}

/** Whether the actor may change roles and statuses, including their own. */
export function hasAdminRights({ person }: Actor): boolean {
  return person === undefined || person.role === 'admin';
}

export function authorizeAdmin(actor: Actor): void {
  if (!hasAdminRights(actor)) throw forbidden('change roles and statuses', 'admins and trusted applications');
}

/** Whether the actor may revoke the access of somebody else. */
export function authorizeRevocation(actor: Actor): void {
  if (!hasAdminRights(actor)) {
    throw forbidden(
      'revoke the access of this user',
      'the person, without an application between, and admins',
    );
  }
}

/**
 * A person who controls the address can set a new password. So people change their own with the current password, and never
 * through an application: one that got the password could keep the account.
 */
export function authorizeOwnEmailChange({ firstParty }: { firstParty: boolean }): void {
  if (!firstParty) {
    throw forbidden('change this email address', 'the person, without an application between, and admins');
  }
}

/**
 * Whether a change of the password or the email address needs the current password. A person's own always does, whatever
 * their role: a token alone does not prove who is using it.
 */
export function needsCurrentPassword(actor: Actor, id: string): boolean {
  return actor.person?.id === id || !hasAdminRights(actor);
}

/**
 * Whether people act on their own record: by a sign-in, a consent, or a credential that they made themselves. One that somebody else made
 * in their application works with their data, and is not them.
 */
export function isOwn({ person, givenBy }: Actor, id: string): boolean {
  return person?.id === id && givenBy === undefined;
}

function forbidden(action: string, permitted: string): ServiceError {
  return new ServiceError('forbidden', `You are not permitted to ${action}: that is for ${permitted}.`);
}
