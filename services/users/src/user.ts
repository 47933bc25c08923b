import { ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { defaultsOf, type EntityOf, type ListFieldOf } from '@gatehouse/domain/fields';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { RequestedBy } from '@gatehouse/server/requests';
import {
  type ACCOUNT,
  type ChangeableField,
  USER,
  type USER_ROLES,
  type USER_STATUSES,
} from './user-fields.ts';

export type UserRole = (typeof USER_ROLES)[number];
export type UserStatus = (typeof USER_STATUSES)[number];

/** A user as stored. */
export type UserRecord = EntityOf<typeof USER>;

/** The user aggregate: every API profile is a view of it. */
export type User = Omit<UserRecord, 'name'> & { name: string };

/**
 * The fields that lists of users are sorted and filtered by. `text` is what a username, a name or an email address before its
 * @ contains; lists are not sorted by it.
 */
export type UserField = ListFieldOf<typeof USER> | 'text';

/** A user with the fields that are never returned. */
export type Account = EntityOf<typeof ACCOUNT> & {
  /** Whether somebody else had the address before, and neither has confirmed it: the first to confirm it gets it. */
  emailContested?: boolean;
  /** The key of the address from before domains were compared as A-labels, which the account keeps with the address. */
  formerEmailKey?: string;
  /** The look-alike keys that an earlier account holds. Both accounts are older than the rule against look-alikes. */
  sharedLookAlikes?: readonly string[];
};

export function userOf(record: UserRecord): User {
  const { name, firstName, lastName, username } = record;
  const parts = [firstName, lastName].filter((part) => part !== null);
  return { ...record, name: name ?? (parts.length > 0 ? parts.join(' ') : username) };
}

/**
 * A user to be created: at least a username, an email or a name. A missing username is derived from the others. Without a
 * password the user cannot sign in. The password is in plain text here and nowhere else.
 */
export type NewUser = Partial<Pick<UserRecord, ChangeableField | 'id' | 'emailVerified'>> & {
  password?: string;
} & EmailClaim;

/** A new user, as of now; one who is imported may have been created earlier. */
export function newUserRecord(
  draft: NewUser,
  { id, username, createdAt }: { id: string; username: string; createdAt?: Date },
): UserRecord {
  const now = new Date();
  const { password: _, claimsEmail: __, email = null, emailVerified = false, ...fields } = draft;
  return {
    ...defaultsOf(USER),
    role: 'user',
    status: 'active',
    ...omitUndefined(fields),
    id,
    username,
    email,
    emailVerified: email !== null && emailVerified,
    version: 1,
    createdAt: createdAt ?? now,
    updatedAt: now,
  };
}

/**
 * The addresses that count as free: with `unconfirmed`, that of another user who has not confirmed it, and with `any` also that of
 * one who has, so that nobody learns of them. It stays theirs, and can be confirmed by nobody else.
 */
export type EmailClaim = { claimsEmail?: 'unconfirmed' | 'any' };

/**
 * Fields to change; absent ones stay. A new email is unverified, and a new role or status ends tokens, as a
 * SecurityChange does.
 */
export type UserChanges = Partial<Omit<Pick<UserRecord, ChangeableField>, 'email'>> & { email?: string };

/**
 * Changes as requested, with a new password in plain text, which ends tokens and sessions. With the current password,
 * they are made only if it is right.
 */
export type UserUpdate = UserChanges & { password?: string; currentPassword?: string };

/** Changes for the store. With `currentHash` they are made only if the password is still the one that was checked; null: if there is none. */
export type AccountChanges = UserChanges & { passwordHash?: string | null; currentHash?: string | null };

/** The epochs of an account. Raising one ends what was issued with a lower value. */
export const EPOCHS = ['epoch', 'signInEpoch', 'recoveryEpoch', 'authorityEpoch', 'adminEpoch'] as const;
export type Epoch = (typeof EPOCHS)[number];

/**
 * A change that ends tokens. With `currentHash` it is made only if the password is still the one that was checked. A
 * change of the password and a deactivation end sessions, too. A revocation ends what the person has given to programs and
 * people; `everything` ends their sessions as well, and `kept` has the ids of what it does not end.
 */
export type SecurityChange =
  | {
      reason: 'password';
      passwordHash: string | null;
      currentHash?: string | null;
      isRecovery?: boolean;
      isSetUp?: boolean;
    }
  | { reason: 'role'; role: UserRole }
  | { reason: 'status'; status: UserStatus }
  | { reason: 'revoked'; everything: boolean; kept?: readonly string[] };

/**
 * The event of a change on which the security of the account depends, or which the audit log is to have, with the epochs
 * after it. A creation, a new address (`email`) and a new username raise none.
 */
export type AccountChanged = {
  userId: string;
  epoch: number;
  signInEpoch: number;
  reason: SecurityChange['reason'] | 'created' | 'username' | 'email' | 'email_restored' | 'deleted';
  /** The details for the audit log, such as roles and statuses. Never data that identifies a person, nor a secret. */
  details?: Readonly<Record<string, string | readonly string[]>>;
  /** The verified address before a change of the address, or a deletion on request. */
  previousEmail?: string;
  /** The username before a change of it, or a deletion on request. */
  previousUsername?: string;
  /** Whether a link gives the previous address back, or the previous username is held for the person. */
  isRestorable?: true;
  /** Whether an admin gave the account back by it, so that no link undoes it. */
  isGivenBack?: true;
  /** The caller and the origin. Identity records itself what people do on its own pages. */
  by?: RequestedBy;
};

/**
 * The event of a write, for all subscribers. It names the fields that changed, never their values: subscribers read the
 * user for those.
 */
export type UserEvent = {
  subject: 'users.user.created' | 'users.user.changed' | 'users.user.deleted';
  data: { user_id: string; version: number; changed?: string[]; actors?: readonly string[] };
};

/**
 * The key of what a person signs in with: a username, or an email address if it has an @. The `formerKey` is that of an address
 * from before domains were compared as A-labels.
 */
export type Login = { usernameKey: string } | { emailKey: string; formerKey?: string };

/**
 * The store as the use cases need it. Writes are durable when they resolve; they raise the version and updatedAt, and
 * store their events for delivery (see user-changes.ts). A deleted user does not exist for any of these methods, though
 * their last events may still be stored.
 *
 * Writes to a user throw `not_found`, and `precondition_failed` when the user is at none of the versions given. Those that
 * people make throw a LastAdminError when nobody would be an active admin after them.
 */
export type UserStore = ListSource<UserField, User> & {
  /**
   * Throws a TakenError when the id, the username or the email belongs to another user. Callers ask findTaken before whether the
   * username is held.
   */
  insert(
    account: Account,
    claim?: EmailClaim,
    by?: RequestedBy,
  ): Promise<{ accountChanges: AccountChanged[] }>;
  /** Inserts those whose id, username and email are free, and the username not held, with one command, and returns for each whether it was inserted. */
  insertFree(accounts: readonly Account[]): Promise<boolean[]>;
  /** Which of these ids belong to users, of whom some may be deleted but not yet forgotten. */
  findKnown(ids: readonly string[]): Promise<Set<string>>;
  findById(id: string): Promise<User | undefined>;
  /** By a username or a verified email, in one query. */
  findByLogin(login: Login): Promise<{ user: User; passwordHash: string | null } | undefined>;
  /** Null for a user without a password, undefined for an unknown one. */
  passwordHashOf(id: string): Promise<string | null | undefined>;
  /**
   * Replaces a hash by another one of the same password; false if it is no longer the current one. This changes nothing that others
   * see: neither version nor epochs, and there is no event.
   */
  replacePasswordHash(id: string, from: string, to: string): Promise<boolean>;
  /** Throws a TakenError, as insert does, and also when the username is held for another user. */
  update(
    id: string,
    changes: AccountChanges & EmailClaim,
    ifVersion?: IfVersion,
    by?: RequestedBy,
  ): Promise<{ user: User; events: AccountChanged[] }>;
  /**
   * Marks the address as verified, and takes it from another user who has not verified it. Throws `conflict` when it is
   * no longer the current one, and a TakenError when another user has verified it.
   */
  verifyEmail(id: string, email: string): Promise<User>;
  /**
   * Gives the account an address back, verified as by verifyEmail; ends tokens and sessions, and removes the password. Throws `conflict`
   * when it is neither the present one nor the earlier one.
   */
  restoreEmail(id: string, email: string): Promise<{ user: User; events: AccountChanged[] }>;
  /** Undefined when nothing changes; throws a WrongPasswordError when currentHash is no longer the current one. */
  changeSecurity(
    id: string,
    change: SecurityChange,
    ifVersion?: IfVersion,
    by?: RequestedBy,
  ): Promise<{ user: User; events: AccountChanged[] } | undefined>;
  /** Deletes everything but the epochs, the version and undelivered events. */
  remove(id: string, ifVersion?: IfVersion, by?: RequestedBy): Promise<AccountChanged>;
  /** Which of the two belong to existing users, or are held for one. */
  findTaken(
    names: { username?: string; email?: string | null } & EmailClaim,
  ): Promise<('username' | 'email')[]>;
};

export class TakenError extends ServiceError {
  readonly field: 'id' | 'username' | 'email';

  constructor(field: 'id' | 'username' | 'email') {
    const message = `This ${field} is already taken.`;
    super('conflict', message, { details: [{ field, message: 'is already taken' }] });
    this.field = field;
  }
}

export class LastAdminError extends ServiceError {
  constructor() {
    super('conflict', 'This is the last active admin. Make somebody else an admin first.');
  }
}

export class WrongPasswordError extends ServiceError {
  constructor() {
    super('forbidden', 'The current password is not right.');
  }
}
