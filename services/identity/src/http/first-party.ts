import { ServiceError } from '@gatehouse/kit/errors';
import { type Caller, requireScope } from '@gatehouse/tokens/caller';
import { MANAGE_APPS } from '@gatehouse/tokens/scopes';

/**
 * The person who manages their own with a token that only a login or our own dashboard can have. Throws `forbidden` for
 * applications, their API keys and machines; `what` is the subject of the message, such as "Applications".
 */
export function requireFirstParty(caller: Caller, what: string): NonNullable<Caller['person']> {
  requireScope(caller, [MANAGE_APPS]);
  const { person, subject, keyId } = caller;
  if (person === undefined || person.id !== subject || keyId !== undefined) {
    throw new ServiceError('forbidden', `${what} are managed by people, not by machines.`);
  }
  return person;
}

/** The same for what only admins see and do. */
export function requireFirstPartyAdmin(caller: Caller, what: string): NonNullable<Caller['person']> {
  const person = requireFirstParty(caller, what);
  if (person.role !== 'admin') throw new ServiceError('forbidden', `${what} are for admins only.`);
  return person;
}
