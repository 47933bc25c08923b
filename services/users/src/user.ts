import { ServiceError } from '@gatehouse/kit/errors';

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
  createdAt: Date;
  updatedAt: Date;
};

/** A user as stored: who has chosen no name gets one at each reading, so that it follows what it is made of. */
export type UserRecord = Omit<User, 'name'> & { name: string | null };

export function userOf(record: UserRecord): User {
  const { name, firstName, lastName, username } = record;
  const parts = [firstName, lastName].filter((part) => part !== null);
  return { ...record, name: name ?? (parts.length > 0 ? parts.join(' ') : username) };
}

/** What it takes to make a user. The password is in plain text here, and nowhere after. */
export type NewUser = {
  id?: string;
  username: string;
  email: string;
  emailVerified?: boolean;
  password: string;
  name?: string;
  role?: UserRole;
};

/** Fields to change; what is absent stays. An email that changes is unverified again. */
export type UserChanges = {
  username?: string;
  email?: string;
  name?: string | null;
  firstName?: string | null;
  lastName?: string | null;
  phone?: string | null;
  picture?: string | null;
};

/**
 * A change that ends tokens. `currentHash` makes it conditional: on the password still being the one that was
 * checked. A password that changes and a person who is deactivated end sessions, too.
 */
export type StandingChange =
  | { reason: 'password'; passwordHash: string; currentHash?: string }
  | { reason: 'role'; role: UserRole }
  | { reason: 'status'; status: UserStatus };

/** What others learn of a StandingChange or a deletion: from now on these are the epochs. */
export type AccountChanged = {
  userId: string;
  epoch: number;
  signInEpoch: number;
  reason: StandingChange['reason'] | 'deleted';
};

export type OffsetPage = { limit: number; offset: number };
export type UserPage = { users: User[]; total: number };

/** What a person signs in with, folded (see foldedKey): a username, or an address if it has an @. */
export type Login = { usernameKey: string } | { emailKey: string };

/**
 * What the use cases need of a store. Writes are durable when they resolve. Whoever is deleted is not there any
 * more for any of these, though their last event may still wait in the store for its delivery.
 */
export type UserStore = {
  /** Throws a TakenError when the id, the username or the email belongs to another user. */
  insert(user: UserRecord & { passwordHash: string }): Promise<void>;
  findById(id: string): Promise<User | undefined>;
  /** By a username or a verified email, in one query. */
  findByLogin(login: Login): Promise<{ user: User; passwordHash: string | null } | undefined>;
  /** null for a user who has no password. */
  passwordHashOf(id: string): Promise<string | null | undefined>;
  /** Sorted by id, which is the order of creation. */
  page(page: OffsetPage): Promise<UserPage>;
  /** The changed user, with an updatedAt later than before; throws a TakenError as insert does. */
  update(id: string, changes: UserChanges): Promise<User | undefined>;
  /** Marks the address as verified, if it is still theirs. */
  verifyEmail(id: string, email: string): Promise<User | undefined>;
  /**
   * Makes the change, raises the epochs and keeps the event for its delivery, in one write. Undefined when there
   * is no such user, when the condition does not hold, or when role or status are so already.
   */
  changeStanding(
    id: string,
    change: StandingChange,
  ): Promise<{ user: User; event: AccountChanged } | undefined>;
  /** Forgets everything but the epochs and the events that are not delivered yet. */
  remove(id: string): Promise<AccountChanged | undefined>;
  /** Which of the two belongs to a user already. */
  taken(username: string, email: string): Promise<'username' | 'email' | undefined>;
};

export class TakenError extends ServiceError {
  constructor(field: 'id' | 'username' | 'email') {
    const message = `This ${field} is already taken.`;
    super('conflict', message, { details: [{ field, message: 'is already taken' }] });
  }
}
