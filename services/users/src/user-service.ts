import { type FieldProblem, ServiceError } from '@gatehouse/kit/errors';
import { foldedKey } from '@gatehouse/kit/folded-key';
import { newId } from '@gatehouse/kit/ids';
import type { ListSource } from '@gatehouse/kit/list-query';
import { omitUndefined } from '@gatehouse/kit/omit-undefined';
import type { Attempts } from './attempts.ts';
import { DERIVATIONS, derivedUsername } from './derived-username.ts';
import {
  type AccountChanged,
  type IfVersion,
  type Login,
  type NewUser,
  type SecurityChange,
  TakenError,
  type Update,
  type User,
  type UserField,
  type UserRecord,
  type UserRole,
  type UserStatus,
  type UserStore,
  userOf,
  WrongPasswordError,
} from './user.ts';
import { draftProblems, EMAIL_MAX, fieldProblems, PASSWORD_LENGTH } from './user-fields.ts';

/** Turns a password into what may be stored, and checks one against that. */
export type Passwords = {
  hash(password: string): Promise<string>;
  /** With no hash it is as wrong as any other, and takes as long. */
  verify(hash: string | null, password: string): Promise<boolean>;
};

/** What the use cases depend on. */
export type UserServiceDependencies = {
  store: UserStore;
  passwords: Passwords;
  /** Tells those who hold tokens and sessions; resolves when they know or when it takes too long, never rejects. */
  announce(event: AccountChanged): Promise<void>;
  /** Bounds how often somebody may guess the current password of one user by one way, such as an application. */
  guesses: Attempts;
  /** The same by all ways together, since anybody can make as many applications as they like. */
  allGuesses: Attempts;
};

/** The use cases; they throw ServiceErrors that say what is wrong with the request. */
export type UserService = {
  /** Throws a TakenError when the id, the username or the email belongs to another user. */
  create(draft: NewUser): Promise<User>;
  read(id: string): Promise<User>;
  list: ListSource<UserField, User>;
  /** This and all changes below throw `precondition_failed` when the user is in none of these versions. */
  update(id: string, changes: Update, ifVersion?: IfVersion): Promise<User>;
  remove(id: string, ifVersion?: IfVersion): Promise<void>;
  /**
   * The user who signs in with this. Undefined, after the same time, for an unknown login, a wrong password, a user
   * without one and an inactive user. The epochs are those of the moment at which the password was right.
   */
  checkPassword(login: string, password: string): Promise<User | undefined>;
  /** The user whose username or verified email this is, active or not. */
  lookUp(login: string): Promise<User | undefined>;
  /** Throws a WrongPasswordError when a current password is given and is wrong, and `rate_limited` after too many. */
  changePassword(id: string, change: PasswordChange, ifVersion?: IfVersion): Promise<User>;
  changeRole(id: string, role: UserRole, ifVersion?: IfVersion): Promise<User>;
  changeStatus(id: string, status: UserStatus, ifVersion?: IfVersion): Promise<User>;
  /** Throws `conflict` when the address is not the current one any more. */
  verifyEmail(id: string, email: string): Promise<User>;
};

export type PasswordChange = {
  newPassword: string;
  currentPassword?: string;
  /** The way by which it comes, such as an application: wrong passwords are counted for each way by itself. */
  through?: string;
};

/** The use cases. They know no caller: who may do what is in user-access.ts. */
export function createUserService({
  store,
  passwords,
  announce,
  guesses,
  allGuesses,
}: UserServiceDependencies): UserService {
  /** Throws unless the password is that of the user; returns the hash that it was checked against. */
  async function checkCurrent(id: string, password: string, through: string): Promise<string> {
    const key = `${id} ${through}`;
    const takeBack = () => {
      guesses.takeBack(key);
      allGuesses.takeBack(id);
    };
    const hash = await store.passwordHashOf(id);
    if (hash === undefined) throw notFound();
    // Counted before the check, so that many at a time cannot slip through, and taken back when it was right.
    // What one way refuses is not counted for all together, or it would close the other ways.
    guesses.count(key);
    allGuesses.count(id);
    let right: boolean;
    try {
      right = await passwords.verify(hash, bounded(password));
    } catch (error) {
      takeBack();
      throw error;
    }
    if (!right || hash === null) throw new WrongPasswordError();
    takeBack();
    return hash;
  }

  async function announced({ user, events }: { user: User; events: AccountChanged[] }): Promise<User> {
    for (const event of events) await announce(event);
    return user;
  }

  /** Makes the change and announces it; the user as they are when there is nothing to change. */
  async function changeSecurity(id: string, change: SecurityChange, ifVersion: IfVersion): Promise<User> {
    const changed = await store.changeSecurity(id, change, ifVersion);
    return changed === undefined ? found(await store.findById(id)) : announced(changed);
  }

  return {
    async create(draft) {
      refuse(draftProblems(draft));
      const { id = newId('usr'), username, email, password } = draft;
      // Asked before hashing, which is the expensive part; the store's unique keys have the last word.
      const [taken] = await store.taken(omitUndefined({ username, email }));
      if (taken !== undefined) throw new TakenError(taken);
      const passwordHash = password === undefined ? null : await passwords.hash(password);
      for (let attempt = 0; ; attempt += 1) {
        const chosen = username ?? derivedUsername(draft, attempt);
        const record = recordOf(draft, { id, username: chosen });
        try {
          await store.insert({ ...record, passwordHash });
          return userOf(record);
        } catch (error) {
          const isLast = username !== undefined || attempt + 1 === DERIVATIONS;
          // Somebody has the derived one already: another will do.
          if (isLast || !(error instanceof TakenError) || error.field !== 'username') throw error;
        }
      }
    },

    async read(id) {
      return found(await store.findById(id));
    },

    list: { byOffset: store.byOffset, byKeyset: store.byKeyset, count: store.count },

    async update(id, { password, ...changes }, ifVersion) {
      refuse(fieldProblems({ ...changes, ...omitUndefined({ password }) }));
      const hashed = password === undefined ? {} : { passwordHash: await passwords.hash(password) };
      return announced(await store.update(id, { ...changes, ...hashed }, ifVersion));
    },

    async remove(id, ifVersion) {
      await announce(await store.remove(id, ifVersion));
    },

    async checkPassword(login, password) {
      const account = await store.findByLogin(loginOf(login));
      const right = await passwords.verify(account?.passwordHash ?? null, bounded(password));
      return right && account?.user.status === 'active' ? account.user : undefined;
    },

    async lookUp(login) {
      return (await store.findByLogin(loginOf(login)))?.user;
    },

    async changePassword(id, { newPassword, currentPassword, through = '' }, ifVersion) {
      refuse(
        fieldProblems({ password: newPassword }).map(({ message }) => ({ field: 'new_password', message })),
      );
      const checked =
        currentPassword === undefined
          ? {}
          : { currentHash: await checkCurrent(id, currentPassword, through) };
      const passwordHash = await passwords.hash(newPassword);
      return changeSecurity(id, { reason: 'password', passwordHash, ...checked }, ifVersion);
    },

    changeRole: (id, role, ifVersion) => changeSecurity(id, { reason: 'role', role }, ifVersion),

    changeStatus: (id, status, ifVersion) => changeSecurity(id, { reason: 'status', status }, ifVersion),

    verifyEmail: store.verifyEmail,
  };
}

/** The user that the draft makes, at this moment. */
function recordOf(draft: NewUser, { id, username }: { id: string; username: string }): UserRecord {
  const now = new Date();
  const email = draft.email ?? null;
  return {
    id,
    username,
    email,
    emailVerified: email !== null && (draft.emailVerified ?? false),
    name: draft.name ?? null,
    firstName: draft.firstName ?? null,
    lastName: draft.lastName ?? null,
    phone: null,
    picture: null,
    role: draft.role ?? 'user',
    status: draft.status ?? 'active',
    epoch: 0,
    signInEpoch: 0,
    version: 1,
    createdAt: now,
    updatedAt: now,
  };
}

/** What a login is looked up by. One that is too long for anybody costs no more than any other. */
function loginOf(login: string): Login {
  const key = (login.length > EMAIL_MAX ? '' : foldedKey(login)) || NOBODY;
  return key.includes('@') ? { emailKey: key } : { usernameKey: key };
}

/** Not empty: the keys' indexes hold no empty ones, so that looking for one would read everything. */
const NOBODY = ' ';

/** At most what a password can be in any Unicode form; a longer one is wrong without being read. */
function bounded(password: string): string {
  // A character is two units at most, and composes from four at most.
  return password.length > PASSWORD_LENGTH.max * 8 ? '' : password;
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
