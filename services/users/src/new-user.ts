import { defaultsOf } from '@gatehouse/domain/fields';
import type { NewUser, UserRecord } from './user.ts';
import { USER } from './user-fields.ts';

/** A new user, as of now; one who is imported may have been created earlier. */
export function newUserRecord(
  draft: NewUser,
  { id, username, createdAt }: { id: string; username: string; createdAt?: Date },
): UserRecord {
  const now = new Date();
  const { name = null, firstName = null, lastName = null, email = null, role, status } = draft;
  return {
    ...defaultsOf(USER),
    id,
    username,
    email,
    emailVerified: email !== null && (draft.emailVerified ?? false),
    name,
    firstName,
    lastName,
    role: role ?? 'user',
    status: status ?? 'active',
    version: 1,
    createdAt: createdAt ?? now,
    updatedAt: now,
  };
}
