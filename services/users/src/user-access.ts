import { ServiceError } from '@gatehouse/kit/errors';
import type { UserRole } from './user.ts';

/** Who acts: a person, under whose role and ownership the request stands, or a machine of its own standing. */
export type Actor = { person: { id: string; role: UserRole } | undefined };

/**
 * Who may do what to which user, beside the scope that the operation needs. Each throws `forbidden`, also
 * for a user who does not exist: whoever may not look does not learn that either.
 */

export function mayList({ person }: Actor): void {
  if (person !== undefined && person.role === 'user')
    throw forbidden('list users', 'editors, admins and trusted applications');
}

export function mayCreate({ person }: Actor): void {
  if (person !== undefined && person.role !== 'admin')
    throw forbidden('create users', 'admins and trusted applications');
}

export function mayRead({ person }: Actor, id: string): void {
  if (person !== undefined && person.role === 'user' && person.id !== id)
    throw forbidden('read this user', 'the person, editors, admins and trusted applications');
}

export function mayChange({ person }: Actor, id: string): void {
  if (person !== undefined && person.role !== 'admin' && person.id !== id)
    throw forbidden('change this user', 'the person, admins and trusted applications');
}

/** Whether somebody may change roles and statuses; their own are no exception. */
export function governs({ person }: Actor): boolean {
  return person === undefined || person.role === 'admin';
}

export function mayGovern(actor: Actor): void {
  if (!governs(actor)) throw forbidden('change roles and statuses', 'admins and trusted applications');
}

/**
 * Whether a password changes only for who knows the current one: of one's own a token alone does not show that it is
 * them, whatever their role.
 */
export function needsCurrentPassword({ person }: Actor, id: string): boolean {
  return person !== undefined && (person.role !== 'admin' || person.id === id);
}

function forbidden(what: string, who: string): ServiceError {
  return new ServiceError('forbidden', `You are not permitted to ${what}: that is for ${who}.`);
}
