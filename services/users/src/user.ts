import { ServiceError } from '@gatehouse/kit/errors';
import type { ListSource } from '@gatehouse/kit/list-query';

export const USER_ROLES = ['user', 'editor', 'admin'] as const;
export type UserRole = (typeof USER_ROLES)[number];

export const USER_STATUSES = ['active', 'inactive'] as const;
export type UserStatus = (typeof USER_STATUSES)[number];

/** The user aggregate: every API profile is a view of it. */
export type User = {
  id: string;
  username: string;
  email: string | null;
  /** Whether the address is known to be theirs; one that is not never identifies anybody. */
  emailVerified: boolean;
  name: string;
  firstName: string | null;
  lastName: string | null;
  phone: string | null;
  picture: string | null;
  role: UserRole;
  status: UserStatus;
  /** Access tokens of a lower one are dead. Never goes back. */
  epoch: number;
  /** Sessions, grants and refresh tokens of a lower one are dead. Never goes back. */
  signInEpoch: number;
  /** Raised by every write; 0 for who was stored before there were versions. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/** What lists of users are sorted and filtered by. */
export const USER_FIELDS = ['id', 'username', 'email', 'role', 'status', 'createdAt', 'updatedAt'] as const;
export type UserField = (typeof USER_FIELDS)[number];

/** A user as stored: a name that nobody has chosen is made at each reading, so that it follows what it is made of. */
export type UserRecord = Omit<User, 'name'> & { name: string | null };

/** A user with what is never shown of them; no password means that they cannot sign in with one. */
export type Account = UserRecord & { passwordHash: string | null };

export function userOf(record: UserRecord): User {
  const { name, firstName, lastName, username } = record;
  const parts = [firstName, lastName].filter((part) => part !== null);
  return { ...record, name: name ?? (parts.length > 0 ? parts.join(' ') : username) };
}

/**
 * What it takes to make a user: a username, an email or a name at least. A missing username is made of the others;
 * without an email nobody is reached and without a password nobody signs in. The password is in plain text here, and
 * nowhere after.
 */
export type NewUser = {
  id?: string;
  username?: string;
  email?: string | null;
  emailVerified?: boolean;
  password?: string;
  name?: string;
  firstName?: string;
  lastName?: string;
  role?: UserRole;
  status?: UserStatus;
};

/**
 * Fields to change; what is absent stays. An email that changes is unverified again, and a role or status that
 * changes ends tokens, as a SecurityChange does.
 */
export type UserChanges = {
  username?: string;
  email?: string;
  name?: string | null;
  firstName?: string | null;
  lastName?: string | null;
  phone?: string | null;
  picture?: string | null;
  role?: UserRole;
  status?: UserStatus;
};

/** Changes as they are requested: with a password as well, which ends tokens and sessions; in plain text here. */
export type Update = UserChanges & { password?: string };

/**
 * A change that ends tokens. `currentHash` makes it conditional: on the password still being the one that was
 * checked. A password that changes and a person who is deactivated end sessions, too.
 */
export type SecurityChange =
  | { reason: 'password'; passwordHash: string; currentHash?: string }
  | { reason: 'role'; role: UserRole }
  | { reason: 'status'; status: UserStatus };

/** What others learn of a SecurityChange or a deletion: from now on these are the epochs. */
export type AccountChanged = {
  userId: string;
  epoch: number;
  signInEpoch: number;
  reason: SecurityChange['reason'] | 'deleted';
};

/** Which versions a write is for: it happens only when the user is in one of them. Any, when it is absent. */
export type IfVersion = readonly number[] | undefined;

/**
 * What every listener learns of a write: that it happened, and the names of the fields that are different now, never
 * their values. To know those, they read the user.
 */
export type UserEvent = {
  subject: 'users.user.created' | 'users.user.changed' | 'users.user.deleted';
  data: { user_id: string; version: number; changed?: string[] };
};

/** What a person signs in with, folded (see foldedKey): a username, or an address if it has an @. */
export type Login = { usernameKey: string } | { emailKey: string };

/**
 * What the use cases need of a store. Writes are durable when they resolve, raise the version, make updatedAt later than
 * before and keep their events for delivery (see user-changes.ts). A deleted user does not exist any more for any of
 * these, though their last events may still wait in the store.
 *
 * The writes to a user throw `not_found` and, when the user is in none of the versions, `precondition_failed`.
 */
export type UserStore = ListSource<UserField, User> & {
  /** Throws a TakenError when the id, the username or the email belongs to another user. */
  insert(account: Account): Promise<void>;
  findById(id: string): Promise<User | undefined>;
  /** By a username or a verified email, in one query. */
  findByLogin(login: Login): Promise<{ user: User; passwordHash: string | null } | undefined>;
  /** null for a user who has no password. */
  passwordHashOf(id: string): Promise<string | null | undefined>;
  /** Throws a TakenError as insert does. */
  update(
    id: string,
    changes: UserChanges & { passwordHash?: string },
    ifVersion?: IfVersion,
  ): Promise<{ user: User; events: AccountChanged[] }>;
  /** Marks the address as verified; throws `conflict` when it is not theirs any more. */
  verifyEmail(id: string, email: string): Promise<User>;
  /** Undefined when the role or the status is so already; throws a WrongPasswordError when currentHash is not so. */
  changeSecurity(
    id: string,
    change: SecurityChange,
    ifVersion?: IfVersion,
  ): Promise<{ user: User; events: AccountChanged[] } | undefined>;
  /** Forgets everything but the epochs, the version and the events that are not delivered yet. */
  remove(id: string, ifVersion?: IfVersion): Promise<AccountChanged>;
  /** Which of the two belong to users already. */
  taken(names: { username?: string; email?: string | null }): Promise<('username' | 'email')[]>;
};

export class TakenError extends ServiceError {
  readonly field: 'id' | 'username' | 'email';

  constructor(field: 'id' | 'username' | 'email') {
    const message = `This ${field} is already taken.`;
    super('conflict', message, { details: [{ field, message: 'is already taken' }] });
    this.field = field;
  }
}

export class WrongPasswordError extends ServiceError {
  constructor() {
    super('forbidden', 'The current password is not right.');
  }
}
