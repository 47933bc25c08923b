import { type FieldProblem, ServiceError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';

export const USER_ROLES = ['user', 'editor', 'admin'] as const;
export type UserRole = (typeof USER_ROLES)[number];

export const USER_STATUSES = ['active', 'inactive'] as const;
export type UserStatus = (typeof USER_STATUSES)[number];

/** The user aggregate: every API profile is a view of it. */
export type User = {
  id: string;
  username: string;
  email: string | null;
  role: UserRole;
  status: UserStatus;
  createdAt: Date;
  updatedAt: Date;
};

/** What it takes to make a user. The password is in plain text here, and nowhere after. */
export type NewUser = { id?: string; username: string; email: string; password: string; role?: UserRole };

/** Fields to change; what is absent stays. */
export type UserChanges = { username?: string; email?: string };

export type OffsetPage = { limit: number; offset: number };
export type UserPage = { users: User[]; total: number };

/** What the use cases need of a store. Writes are durable when they resolve. */
export type UserStore = {
  /** Throws a TakenError when the username or the email belongs to another user. */
  insert(user: User & { passwordHash: string }): Promise<void>;
  findById(id: string): Promise<User | undefined>;
  /** Sorted by id, which is the order of creation. */
  page(page: OffsetPage): Promise<UserPage>;
  /** The changed user, with an updatedAt later than before; throws a TakenError as insert does. */
  update(id: string, changes: UserChanges): Promise<User | undefined>;
  remove(id: string): Promise<boolean>;
  /** Which of the two belongs to a user already. */
  taken(username: string, email: string): Promise<'username' | 'email' | undefined>;
};

export class TakenError extends ServiceError {
  constructor(field: 'username' | 'email') {
    const message = `This ${field} is already taken.`;
    super('conflict', message, { details: [{ field, message: 'is already taken' }] });
  }
}

/** Turns a password into what may be stored. */
export type PasswordHasher = { hash(password: string): Promise<string> };

/** The use cases; they throw ServiceErrors that say what is wrong with the request. */
export type Users = {
  create(draft: NewUser): Promise<User>;
  read(id: string): Promise<User>;
  list(page: OffsetPage): Promise<UserPage>;
  update(id: string, changes: UserChanges): Promise<User>;
  remove(id: string): Promise<void>;
};

/** The use cases over a store. They know no caller: who may do what is in user-access.ts. */
export function createUsers(store: UserStore, passwords: PasswordHasher): Users {
  return {
    async create({ id = newId('usr'), username, email, password, role = 'user' }) {
      refuse([...usernameProblems(username), ...emailProblems(email), ...passwordProblems(password)]);
      // Asked before hashing, which is the expensive part; the store's unique keys have the last word.
      const taken = await store.taken(username, email);
      if (taken !== undefined) throw new TakenError(taken);
      const now = new Date();
      const user: User = {
        id,
        username,
        email,
        role,
        status: 'active',
        createdAt: now,
        updatedAt: now,
      };
      await store.insert({ ...user, passwordHash: await passwords.hash(password) });
      return user;
    },

    async read(id) {
      return found(await store.findById(id));
    },

    list(page) {
      return store.page(page);
    },

    async update(id, changes) {
      refuse([
        ...(changes.username === undefined ? [] : usernameProblems(changes.username)),
        ...(changes.email === undefined ? [] : emailProblems(changes.email)),
      ]);
      return found(await store.update(id, changes));
    },

    async remove(id) {
      if (!(await store.remove(id))) throw notFound();
    },
  };
}

function found(user: User | undefined): User {
  if (user === undefined) throw notFound();
  return user;
}

function notFound(): ServiceError {
  return new ServiceError('not_found', 'There is no such user.');
}

function refuse(problems: readonly FieldProblem[]): void {
  if (problems.length === 0) return;
  const message = problems.map(({ field, message }) => `${field} ${message}`).join('; ');
  throw new ServiceError('invalid', `${message}.`, { details: problems });
}

/**
 * The key by which usernames and emails are unique and sorted: two spellings that differ in case or in
 * Unicode form only are one (NFKC, case-folded). Lower, upper and lower case once more fold ß and
 * ẞ with ss.
 */
export function foldedKey(text: string): string {
  return text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}

/** Lengths in characters (code points), both ends included. */
export const USERNAME_LENGTH = { min: 3, max: 64 };
export const PASSWORD_LENGTH = { min: 8, max: 256 };
const EMAIL_MAX = 254;

function usernameProblems(username: string): FieldProblem[] {
  const field = 'username';
  const { min, max } = USERNAME_LENGTH;
  const length = [...username].length;
  if (length < min || length > max) return [{ field, message: `must have ${min} to ${max} characters` }];
  // Without @ a username is never taken for an email address where one may sign in with either.
  if (!/^[\p{L}\p{M}\p{N}._+-]+$/u.test(username)) {
    return [{ field, message: 'may hold letters, digits, dot, underscore, plus and hyphen only' }];
  }
  if (INVISIBLE.test(username) || !/[\p{L}\p{N}]/u.test(username)) {
    return [
      { field, message: 'must be made of characters that can be seen, one of them a letter or a digit' },
    ];
  }
  return [];
}

/** Characters that show nothing, by which two names could look the same and differ (UAX #31 §2.3). */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u;

function emailProblems(email: string): FieldProblem[] {
  const field = 'email';
  if (email.length > EMAIL_MAX) return [{ field, message: `must have at most ${EMAIL_MAX} characters` }];
  // An address as mail systems take it in practice (RFC 5321 §4.1.2 without quoted strings and literals;
  // RFC 6531 for other scripts): dot-separated atoms, and a domain of two labels or more.
  const atom = String.raw`[\p{L}\p{M}\p{N}!#$%&'*+/=?^_\x60{|}~-]+`;
  const label = String.raw`[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?`;
  const [local = '', domain = '', ...rest] = email.split('@');
  const valid =
    rest.length === 0 &&
    !INVISIBLE.test(email) &&
    local.length <= 64 &&
    new RegExp(`^${atom}(?:\\.${atom})*$`, 'u').test(local) &&
    new RegExp(`^${label}(?:\\.${label})+$`, 'u').test(domain);
  return valid ? [] : [{ field, message: 'must be a valid email address' }];
}

function passwordProblems(password: string): FieldProblem[] {
  const field = 'password';
  const { min, max } = PASSWORD_LENGTH;
  const length = [...password].length;
  return length < min || length > max ? [{ field, message: `must have ${min} to ${max} characters` }] : [];
}
