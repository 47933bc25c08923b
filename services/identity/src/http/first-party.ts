import { ServiceError } from '@gatehouse/core/errors';
import { type Caller, requireScope } from '@gatehouse/tokens/caller';
import { MANAGE_APPS } from '@gatehouse/tokens/scopes';

/**
 * The person who manages their own with a token that only a login or our own dashboard can have. Throws `forbidden` for
 * applications, their API keys and machines; `what` is the subject of the message, such as "Applications".
 */
export function requireFirstParty(
  caller: Caller,
  what: string,
  rule = 'are managed by people',
): NonNullable<Caller['person']> {
  // The scope is not named: no application can ask for it.
  const message = `${what} ${rule}, with a token of POST /api/v1/auth/login or of the dashboard.`;
  requireScope(caller, [MANAGE_APPS], message);
  const { person, subject, keyId } = caller;
  if (person === undefined || person.id !== subject || keyId !== undefined) {
    throw new ServiceError('forbidden', `${what} are managed by people, not by machines.`);
  }
  return person;
}

/** The same for what only admins see and do. */
export function requireFirstPartyAdmin(caller: Caller, what: string): NonNullable<Caller['person']> {
  const person = requireFirstParty(caller, what, 'are for admins');
  if (person.role !== 'admin') throw new ServiceError('forbidden', `${what} are for admins only.`);
  return person;
}
