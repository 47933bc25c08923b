import type { RateLimiter } from '@gatehouse/api/http/rate-limit';
import { type FieldProblem, ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { foldedKey, loginKey } from '@gatehouse/domain/folded-key';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { RequestedBy } from '@gatehouse/server/requests';
import { isCommonPassword } from './common-passwords.ts';
import { derivedUsername, MAX_DERIVATIONS } from './derived-username.ts';
import {
  type AccountChanged,
  type Login,
  type NewUser,
  newUserRecord,
  type SecurityChange,
  TakenError,
  type User,
  type UserField,
  type UserRole,
  type UserStatus,
  type UserStore,
  type UserUpdate,
  userOf,
  WrongPasswordError,
} from './user.ts';
import { draftProblems, fieldProblems, PASSWORD_LENGTH } from './user-fields.ts';

/** Hashes passwords for storage, and checks them against their hash. */
export type Passwords = {
  hash(password: string): Promise<string>;
  /** False without a hash, after the same time as with one. */
  verify(hash: string | null, password: string): Promise<boolean>;
  /** Whether a hash, of which this is the password, was made by another program or at another cost, and should be replaced. */
  isOutdated(hash: string, password: string): boolean;
};

/** The dependencies of the use cases. */
type UserServiceDependencies = {
  store: UserStore;
  passwords: Passwords;
  /** Whether a password is known from a breach; without it, none is. */
  isBreached?: ((password: string) => Promise<boolean>) | undefined;
  /** Ends the tokens and sessions concerned; resolves once that is done or takes too long. Never rejects. */
  publishAccountChange(event: AccountChanged): Promise<void>;
  /** Limits wrong current passwords per user and source of the requests, such as an application. */
  failuresPerSource: RateLimiter;
  /**
   * Limits them per user over all applications, since anyone can register any number of them. Where no application is
   * between, they are counted apart: none can keep a person from their own pages.
   */
  failuresPerUser: RateLimiter;
  /** Limits those in a row, in the same two groups. */
  failuresInARow: RateLimiter;
  /** Limits, per user, how often the own record is given a username or an address that turns out to be taken. */
  takenPerUser: RateLimiter;
};

/** The use cases. They throw ServiceErrors, and know nothing of callers: user-access.ts has the rules of access. */
export type UserService = {
  /** Throws a TakenError when the id, the username or the email belongs to another user. */
  create(draft: NewUser, createdBy?: RequestedBy): Promise<User>;
  read(id: string): Promise<User>;
  exists(id: string): Promise<boolean>;
  list: ListSource<UserField, User>;
  /**
   * This and all changes below throw `precondition_failed` unless the user is at one of these versions. With a current
   * password it throws what changePassword throws. People claim an address for their own record, and get `rate_limited`
   * after too many usernames and addresses that were taken.
   */
  update(id: string, changes: UserUpdate, ifVersion?: IfVersion, by?: Changer): Promise<User>;
  remove(id: string, ifVersion?: IfVersion, changedBy?: RequestedBy): Promise<void>;
  /**
   * The user with this login and password. Undefined, after the same time, for an unknown login, a wrong password, a
   * user without a password and an inactive user. The epochs are those at the time of the check.
   */
  checkPassword(login: string, password: string): Promise<User | undefined>;
  /**
   * Throws a WrongPasswordError unless this is the password of the user with this id. Callers limit the attempts
   * themselves.
   */
  checkCurrentPassword(id: string, password: string): Promise<void>;
  isBreachedPassword(password: string): Promise<boolean>;
  hasPassword(id: string): Promise<boolean>;
  /** Ends all tokens and sessions. Callers make sure that there is another way to sign in. */
  removePassword(id: string): Promise<User>;
  /** The user with this username or verified email, active or not. */
  lookUp(login: string): Promise<User | undefined>;
  /**
   * Throws a WrongPasswordError when a current password is given and wrong, or is null and there is one by now, and `rate_limited`
   * after too many.
   */
  changePassword(id: string, change: PasswordChange, ifVersion?: IfVersion): Promise<User>;
  changeRole(id: string, role: UserRole, ifVersion?: IfVersion, changedBy?: RequestedBy): Promise<User>;
  changeStatus(id: string, status: UserStatus, ifVersion?: IfVersion, changedBy?: RequestedBy): Promise<User>;
  /**
   * Ends everything that the person has given: credentials of applications, and access of programs and other people. With `everything`,
   * their sessions and grants end too; `kept` are the ids of what identity has been told to keep.
   */
  revoke(
    id: string,
    change: { everything: boolean; kept?: readonly string[]; by?: RequestedBy },
  ): Promise<User>;
  /** Throws `conflict` when the address is no longer the current one. */
  verifyEmail(id: string, email: string): Promise<User>;
  /**
   * Gives a person, who has proved that the address is theirs, an earlier address back, verified. Ends all tokens and
   * sessions and removes the password. Throws `conflict` when it cannot be given back any more.
   */
  restoreEmail(id: string, email: string): Promise<User>;
};

/** The author of a change. */
type Changer = {
  /**
   * Where the request comes from, such as an application: wrong passwords are counted per source. Without one, they are
   * not: identity limits the attempts on its pages itself.
   */
  source?: string;
  /** Whether no application is between the person and us. */
  firstParty?: boolean;
  /** Whether people change their own record. */
  own?: boolean;
  /** For the audit log. */
  changedBy?: RequestedBy;
};

type PasswordChange = Omit<Changer, 'own'> & {
  newPassword: string;
  currentPassword?: string | null;
  /** Whether the person used a link because they could not sign in. */
  isRecovery?: boolean;
  /** Whether an admin made that link. */
  isSetUp?: boolean;
};

export function createUserService({
  store,
  passwords,
  isBreached = async () => false,
  publishAccountChange,
  failuresPerSource,
  failuresPerUser,
  failuresInARow,
  takenPerUser,
}: UserServiceDependencies): UserService {
  /** The hash of a password that is set for a user of these names. Throws `invalid` for one of those that are guessed first. */
  async function hashNew(password: string, names: Names, field = 'password'): Promise<string> {
    const message = (await isCommonPassword(password))
      ? 'is a common password, or only counts or repeats, and would be guessed first: choose another'
      : isOwnName(password, names)
        ? 'is the username or the email address, and would be guessed first: choose another'
        : (await isBreached(password)) && 'is known from a data breach, and would be guessed: choose another';
    if (message) assertValid([{ field, message }]);
    return passwords.hash(password);
  }

  /** Throws unless the password is the user's; returns the hash that it was checked against. */
  async function checkPasswordOf(id: string, password: string): Promise<string> {
    const hash = await store.passwordHashOf(id);
    if (hash === undefined) throw notFound();
    const right = await passwords.verify(hash, bounded(password));
    if (!right || hash === null) throw new WrongPasswordError();
    return (await renewed(id, hash, password)) ?? checkPasswordOf(id, password);
  }

  /**
   * The hash after one that is outdated has been replaced, of which this is the password. Undefined if somebody else has
   * replaced it meanwhile, who may have set another password.
   */
  async function renewed(id: string, hash: string, password: string): Promise<string | undefined> {
    if (!passwords.isOutdated(hash, password)) return hash;
    const next = await passwords.hash(password);
    return (await store.replacePasswordHash(id, hash, next)) ? next : undefined;
  }

  /** The same, with the failures counted by user and source. Throws `rate_limited` after too many. */
  async function checkLimited(
    id: string,
    password: string,
    { source, firstParty = false }: Changer,
  ): Promise<string> {
    const ofUser = firstParty ? `${id} own` : id;
    const counters = [
      [failuresPerSource, `${id} ${source}`],
      [failuresPerUser, ofUser],
      [failuresInARow, ofUser],
    ] as const;
    // Counted before the check, so that parallel requests cannot exceed the limit, and refunded when the password is
    // right. The limit per source comes first: what it rejects must not use up the limit of the user.
    const consumed: (typeof counters)[number][] = [];
    let failed = false;
    try {
      for (const counter of counters) {
        const [limiter, key] = counter;
        await limiter.count(key);
        consumed.push(counter);
      }
      const hash = await checkPasswordOf(id, password);
      await failuresInARow.forget(ofUser);
      return hash;
    } catch (error) {
      failed = error instanceof WrongPasswordError;
      throw error;
    } finally {
      if (!failed) for (const [limiter, key] of consumed) await limiter.refund(key);
    }
  }

  /** A person who has set a password by a mailed link, or on the pages, has proved who they are. */
  async function forgive(id: string): Promise<void> {
    for (const key of [id, `${id} own`]) await failuresInARow.forget(key);
  }

  /** Limited where the request has a source. */
  const checkCurrent = (id: string, password: string, by: Changer) =>
    by.source === undefined ? checkPasswordOf(id, password) : checkLimited(id, password, by);

  /** Lets nobody find out by trying who else is here. */
  async function countingTaken<T>(id: string, write: () => Promise<T>): Promise<T> {
    await takenPerUser.count(id);
    let taken = false;
    try {
      return await write();
    } catch (error) {
      taken = error instanceof TakenError;
      throw error;
    } finally {
      if (!taken) await takenPerUser.refund(id);
    }
  }

  async function published({ user, events }: { user: User; events: AccountChanged[] }): Promise<User> {
    for (const event of events) await publishAccountChange(event);
    return user;
  }

  /** Makes and publishes the change; returns the user unchanged when there is nothing to change. */
  async function changeSecurity(
    id: string,
    change: SecurityChange,
    ifVersion: IfVersion,
    changedBy: RequestedBy | undefined,
  ): Promise<User> {
    const changed = await store.changeSecurity(id, change, ifVersion, changedBy);
    return changed === undefined ? existing(await store.findById(id)) : published(changed);
  }

  return {
    async create(draft, createdBy) {
      assertValid(draftProblems(draft));
      const { id = newId('usr'), username, email, password, claimsEmail } = draft;
      let passwordHash: string | null = null;
      for (let attempt = 0; ; attempt += 1) {
        const chosen = username ?? derivedUsername(draft, attempt);
        const record = newUserRecord(draft, { id, username: chosen });
        try {
          // Before hashing, which is expensive; the store's unique indexes decide in the end.
          const [taken] = await store.findTaken({
            username: chosen,
            ...omitUndefined({ email, claimsEmail }),
          });
          if (taken !== undefined) throw new TakenError(taken);
          if (password !== undefined) passwordHash ??= await hashNew(password, record);
          const { accountChanges: events } = await store.insert(
            { ...record, passwordHash },
            omitUndefined({ claimsEmail }),
            createdBy,
          );
          return published({ user: userOf(record), events });
        } catch (error) {
          const isLast = username !== undefined || attempt + 1 === MAX_DERIVATIONS;
          // The derived username is taken: try another.
          if (isLast || !(error instanceof TakenError) || error.field !== 'username') throw error;
        }
      }
    },

    async read(id) {
      return existing(await store.findById(id));
    },

    exists: async (id) => (await store.findById(id)) !== undefined,

    list: { byOffset: store.byOffset, byKeyset: store.byKeyset, count: store.count },

    async update(id, { password, currentPassword, ...changes }, ifVersion, { own = false, ...by } = {}) {
      assertValid(fieldProblems({ ...changes, ...omitUndefined({ password }) }));
      const checked =
        currentPassword === undefined ? {} : { currentHash: await checkCurrent(id, currentPassword, by) };
      const names = password === undefined ? {} : { ...existing(await store.findById(id)), ...changes };
      const hashed = password === undefined ? {} : { passwordHash: await hashNew(password, names) };
      const write = () =>
        store.update(
          id,
          { ...changes, ...checked, ...hashed, ...(own ? { claimsEmail: 'unconfirmed' } : {}) },
          ifVersion,
          by.changedBy,
        );
      const mayBeTaken = changes.username !== undefined || changes.email !== undefined;
      return published(await (own && mayBeTaken ? countingTaken(id, write) : write()));
    },

    async remove(id, ifVersion, changedBy) {
      await publishAccountChange(await store.remove(id, ifVersion, changedBy));
    },

    async checkPassword(login, password) {
      const account = await store.findByLogin(loginOf(login));
      const hash = account?.passwordHash ?? null;
      const right = await passwords.verify(hash, bounded(password));
      if (!right || hash === null || account?.user.status !== 'active') return undefined;
      await renewed(account.user.id, hash, password);
      return account.user;
    },

    async checkCurrentPassword(id, password) {
      await checkPasswordOf(id, password);
    },

    isBreachedPassword: isBreached,

    async hasPassword(id) {
      const hash = await store.passwordHashOf(id);
      if (hash === undefined) throw notFound();
      return hash !== null;
    },

    removePassword: (id) =>
      changeSecurity(id, { reason: 'password', passwordHash: null }, undefined, undefined),

    async lookUp(login) {
      return (await store.findByLogin(loginOf(login)))?.user;
    },

    async changePassword(
      id,
      { newPassword, currentPassword, isRecovery = false, isSetUp = false, ...by },
      ifVersion,
    ) {
      assertValid(
        fieldProblems({ password: newPassword }).map(({ message }) => ({ field: 'new_password', message })),
      );
      const checked =
        typeof currentPassword === 'string'
          ? { currentHash: await checkCurrent(id, currentPassword, by) }
          : omitUndefined({ currentHash: currentPassword });
      const names = existing(await store.findById(id));
      const passwordHash = await hashNew(newPassword, names, 'new_password');
      const change = { reason: 'password', passwordHash, isRecovery, isSetUp, ...checked } as const;
      const changed = await changeSecurity(id, change, ifVersion, by.changedBy);
      if (by.source === undefined) await forgive(id);
      return changed;
    },

    changeRole: (id, role, ifVersion, changedBy) =>
      changeSecurity(id, { reason: 'role', role }, ifVersion, changedBy),

    changeStatus: (id, status, ifVersion, changedBy) =>
      changeSecurity(id, { reason: 'status', status }, ifVersion, changedBy),

    revoke: (id, { by, ...change }) => changeSecurity(id, { reason: 'revoked', ...change }, undefined, by),

    verifyEmail: store.verifyEmail,

    async restoreEmail(id, email) {
      const restored = await published(await store.restoreEmail(id, email));
      await forgive(id);
      return restored;
    },
  };
}

type Names = { username?: string; email?: string | null };

/** Whether it is what others know the person by, in any spelling (NIST SP 800-63B §5.1.1.2: context-specific words). */
function isOwnName(password: string, { username = '', email }: Names): boolean {
  const names = [username, email ?? '', email?.split('@')[0] ?? ''].filter((name) => name !== '');
  return names.map(loginKey).includes(loginKey(password));
}

function loginOf(login: string): Login {
  const key = loginKey(login);
  if (!key.includes('@')) return { usernameKey: key };
  const formerKey = foldedKey(login).trim();
  return { emailKey: key, ...(formerKey !== key && { formerKey }) };
}

/** An upper bound of a password's length in any Unicode form; a longer one is wrong without being hashed. */
function bounded(password: string): string {
  // A character has at most two UTF-16 units, and is composed of at most four characters.
  return password.length > PASSWORD_LENGTH.max * 8 ? '' : password;
}

function existing(user: User | undefined): User {
  if (user === undefined) throw notFound();
  return user;
}

function notFound(): ServiceError {
  return new ServiceError('not_found', 'There is no such user.');
}

function assertValid(problems: readonly FieldProblem[]): void {
  if (problems.length === 0) return;
  const message = problems.map(({ field, message }) => `${field} ${message}`).join('; ');
  throw new ServiceError('invalid', `${message}.`, { details: problems });
}
