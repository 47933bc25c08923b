import { ServiceError } from '@gatehouse/kit/errors';
import type { UserRole } from './user.ts';

/** Who acts: a person, whose role and ownership decide, or a machine in its own right. */
export type Actor = { person: { id: string; role: UserRole } | undefined };

/**
 * Who may do what to which user, beside the scope that the operation needs. Each throws `forbidden`, also for a user
 * who does not exist: callers who may not look do not learn that either.
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

/** Whether somebody may change roles and statuses, including their own. */
export function governs({ person }: Actor): boolean {
  return person === undefined || person.role === 'admin';
}

export function mayGovern(actor: Actor): void {
  if (!governs(actor)) throw forbidden('change roles and statuses', 'admins and trusted applications');
}

/**
 * Whether a change of the password needs the current one. People need it for their own, whatever their role: a token
 * alone does not prove that it is them.
 */
export function needsCurrentPassword({ person }: Actor, id: string): boolean {
  return person !== undefined && (person.role !== 'admin' || person.id === id);
}

function forbidden(what: string, who: string): ServiceError {
  return new ServiceError('forbidden', `You are not permitted to ${what}: that is for ${who}.`);
}
