import { newId } from '@gatehouse/core/ids';
import { defaultsOf } from '@gatehouse/domain/fields';
import type { UserRecord } from '../../src/user.ts';
import { USER } from '../../src/user-fields.ts';

/** A new user as it is stored, with a name and an address that nobody else has. */
export function userRecord(over: Partial<UserRecord> = {}): UserRecord & { passwordHash: string } {
  const id = newId('usr');
  const now = new Date();
  return {
    ...defaultsOf(USER),
    ...{ id, username: id, email: `${id}@example.org`, role: 'user', status: 'active' },
    ...{ version: 1, createdAt: now, updatedAt: now },
    ...over,
    passwordHash: 'hash',
  };
}
