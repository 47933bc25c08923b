import { newId } from '@gatehouse/core/ids';
import type { UserRecord } from '../../src/user.ts';

/** A new user as it is stored, with a name and an address that nobody else has. */
export function userRecord(over: Partial<UserRecord> = {}): UserRecord & { passwordHash: string } {
  const id = newId('usr');
  const now = new Date();
  return {
    id,
    username: id,
    email: `${id}@example.org`,
    emailVerified: false,
    name: null,
    firstName: null,
    lastName: null,
    phone: null,
    picture: null,
    role: 'user',
    status: 'active',
    epoch: 0,
    signInEpoch: 0,
    recoveryEpoch: 0,
    authorityEpoch: 0,
    earlierEmail: null,
    emailReplacedAt: null,
    version: 1,
    createdAt: now,
    updatedAt: now,
    ...over,
    passwordHash: 'hash',
  };
}
