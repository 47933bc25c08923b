import { invalidFields } from '@gatehouse/api/http/schema';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import { WrongPasswordError } from './user.ts';

const FIELD = 'current_password';

/** The problem of a body without the current password where it is needed. */
export function currentPasswordMissing() {
  return invalidFields([{ field: FIELD, message: 'is required' }]);
}

/** A wrong current password is a 400, since the caller can correct the field; 403 would say that they cannot. */
export async function withWrongPasswordAsField<T>(change: Promise<T>): Promise<T> {
  return change.catch((error: unknown) => {
    throw error instanceof WrongPasswordError
      ? invalidFields([{ field: FIELD, message: 'is not right' }])
      : error;
  });
}

/** Where wrong passwords are counted: all applications that a person owns are one source, as anyone can create many. */
export function sourceOf(caller: Caller): { source: string; firstParty: boolean } {
  const { subject, person, clientId } = caller;
  return {
    source: subject === person?.id ? clientId : 'own applications',
    firstParty: isFirstParty(caller),
  };
}
