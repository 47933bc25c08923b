import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { createBatches } from '@gatehouse/data/batches';
import { defineCollection } from '@gatehouse/data/collection';
import { type Counts, createCounts } from '@gatehouse/data/counts';
import { createFindById } from '@gatehouse/data/find-by-id';
import { createListSource } from '@gatehouse/data/list-source';
import { OUTBOX_INDEX } from '@gatehouse/data/outbox';
import { createVersionedWrites } from '@gatehouse/data/versioned-write';
import { emailKey, foldedKey } from '@gatehouse/domain/folded-key';
import type { RequestedBy } from '@gatehouse/server/requests';
import type { Connection } from 'mongoose';
import { emailLookAlike, usernameLookAlikes } from '../look-alikes/look-alikes.ts';
import {
  type Account,
  type EmailClaim,
  LastAdminError,
  TakenError,
  type UserStore,
  userOf,
} from '../user.ts';
import {
  changeSecurity,
  changeUser,
  createUser,
  deleteUser,
  releaseEmail,
  restoreEmail,
  verifyEmail,
} from '../user-changes.ts';
import {
  ACTIVE_ADMINS,
  accountOf,
  LOOK_ALIKES_INDEX,
  PUBLIC_FIELDS,
  storedAs,
  storedFields,
  USER_LISTS,
  type UserDocument,
  userOfDocument,
} from './user-document.ts';

/** The unique fields, by their stored names. */
const UNIQUE_FIELDS = { _id: 'id', username_key: 'username', email_key: 'email' } as const;
const LOOK_ALIKES = Object.keys(LOOK_ALIKES_INDEX.fields)[0];

/** Users in MongoDB; defines its collection on the connection. */
export function createUserStore(connection: Connection, counts: Counts = createCounts()): UserStore {
  const collection = defineCollection(connection, 'users', [
    ...USER_LISTS.indexes,
    OUTBOX_INDEX,
    LOOK_ALIKES_INDEX,
    { fields: { held_username: 1 }, options: { partialFilterExpression: { held_username: { $gt: '' } } } },
  ]);
  const findDocument = createFindById<UserDocument>(collection, PUBLIC_FIELDS);
  const { byOffset, byKeyset, count } = createListSource({
    collection,
    plan: USER_LISTS,
    projection: PUBLIC_FIELDS,
    read: userOfDocument,
    storedAs,
    counts,
  });
  const versioned = createVersionedWrites({
    collection,
    noun: 'user',
    read: accountOf,
    write: storedFields,
    counts,
    duplicate(key, value) {
      const looksLike = String(value).includes('@') ? 'email' : 'username';
      const field = key === LOOK_ALIKES ? looksLike : UNIQUE_FIELDS[key as keyof typeof UNIQUE_FIELDS];
      return field && new TakenError(field);
    },
  });

  /** A hash that is replaced while another change is written stays, unless that is a change of the password. */
  const writes: typeof versioned = {
    ...versioned,
    update: (id, decide, ifVersion) =>
      versioned.update(
        id,
        (it, revision) => {
          const change = decide(it, revision);
          return change?.next.passwordHash === it.passwordHash
            ? { ...change, unwritten: ['password_hash'] }
            : change;
        },
        ifVersion,
      ),
  };

  /** The condition of users who have names that look like these, by their keys, or for whom a username that does is held. */
  const withLookAlikes = (keys: readonly string[]) => [
    { look_alikes: { $in: [...keys] } },
    { held_username: { $in: [...keys] }, username_held_until: { $gt: new Date() } },
  ];
  const NAMES = { look_alikes: 1, held_username: 1, username_held_until: 1 } as const;

  /** Which of these keys of usernames are those of other users, or are held for them. */
  async function takenUsernames(keys: readonly string[], own?: string): Promise<Set<string>> {
    const others = own === undefined ? {} : { _id: { $ne: own } };
    const found = await collection
      .find<UserDocument>({ $or: withLookAlikes(keys), ...others }, { projection: NAMES })
      .toArray();
    return new Set(found.flatMap((it) => [...(it.look_alikes ?? []), it.held_username ?? '']));
  }

  /** The users who have one of these keys, with those who are looked for at the same time. */
  const findHolders = createBatches<readonly string[], readonly UserDocument[]>({
    max: 100,
    async run(items) {
      const filter = { $or: withLookAlikes(items.flat()) };
      const projection = { ...NAMES, email_verified: 1 };
      const found = await collection.find<UserDocument>(filter, { projection }).toArray();
      return items.map(() => found);
    },
  });

  /** Keeps a name that is held for somebody else from being taken by a change. */
  function withFreeUsername({ id, username }: Account, next: Account) {
    if (foldedKey(next.username) === foldedKey(username)) return undefined;
    const keys = usernameLookAlikes(next.username);
    return async () => {
      if ((await takenUsernames(keys, id)).size > 0) throw new TakenError('username');
    };
  }

  /** The users who have the address or one that looks like it, apart from those who contest it. */
  const holdersOf = (email: string) =>
    collection
      .find<Pick<UserDocument, '_id' | 'email' | 'email_verified'>>(
        { $or: [{ email_key: emailKey(email) }, { look_alikes: emailLookAlike(email) }] },
        { projection: { email: 1, email_verified: 1 } },
      )
      .toArray();
  const isTakenEmail = (error: unknown) => error instanceof TakenError && error.field === 'email';

  /** Writes an address that somebody claims; `write` gets whether it is contested. */
  async function claiming<T>(
    email: string | null | undefined,
    { claimsEmail }: EmailClaim,
    write: (contested: boolean) => Promise<T>,
  ): Promise<T> {
    return write(false).catch(async (error: unknown) => {
      if (claimsEmail === undefined || !isTakenEmail(error) || typeof email !== 'string') throw error;
      const isVerified = (await holdersOf(email)).some((it) => it.email_verified);
      if (claimsEmail !== 'any' && isVerified) throw error;
      return write(true);
    });
  }

  /** Writes an address that somebody has proved to be theirs: an account that has it without proof loses it. */
  async function proven<T>(own: string, email: string, write: () => Promise<T>): Promise<T> {
    return write().catch(async (error: unknown) => {
      const found = isTakenEmail(error) ? await holdersOf(email) : [];
      const holders = found.filter(({ _id }) => _id !== own);
      if (holders.length === 0 || holders.some((it) => it.email_verified)) throw error;
      for (const { _id: id, email: held } of holders) {
        const address = { email: held ?? '', proven: email };
        const released = await writes.update(id, (it, revision) => releaseEmail(it, address, revision));
        if (released === undefined) throw error;
      }
      return write();
    });
  }

  /**
   * Keeps people from locking themselves out: what takes an active admin away needs another one. Trusted applications may do
   * it, since they can make another. It writes to that other one, so that of two writes that each take away whom the other
   * one relies on, one finds its own document changed since it was read, and starts over.
   */
  function withAdminLeft(current: Account, next: Account | undefined, by: RequestedBy | undefined) {
    const isTakenAway = isActiveAdmin(current) && !(next !== undefined && isActiveAdmin(next));
    if (by === undefined || by.user_id === null || !isTakenAway) return {};
    return {
      async onlyIf() {
        const others = { ...ACTIVE_ADMINS, _id: { $ne: current.id } };
        const raised: Record<string, unknown> = { $inc: { version: 1 } };
        const { matchedCount } = await collection.updateOne(others, raised);
        if (matchedCount === 0) throw new LastAdminError();
      },
    };
  }

  return {
    byOffset,
    byKeyset,
    count,

    async insert(account, claim = {}, by) {
      const { accountChanges, events } = createUser(account, by);
      const stored = await claiming(account.email, claim, (emailContested) =>
        writes.insert({ ...account, emailContested }, events),
      );
      return { ...stored, accountChanges };
    },

    async insertFree(accounts) {
      const keys = accounts.map(({ username }) => usernameLookAlikes(username));
      const taken = await takenUsernames(keys.flat());
      const isFree = keys.map((own) => !own.some((key) => taken.has(key)));
      const free = accounts.filter((_, i) => isFree[i]);
      const entries = free.map((account) => ({ aggregate: account, events: createUser(account).events }));
      const inserted = entries.length === 0 ? [] : await versioned.insertFree(entries);
      return isFree.map((is) => is && inserted.shift() === true);
    },

    async findKnown(ids) {
      const found = await collection.find({ _id: { $in: [...ids] } }, { projection: { _id: 1 } }).toArray();
      return new Set(found.map(({ _id }) => _id));
    },

    async replacePasswordHash(id, from, to) {
      const { matchedCount } = await collection.updateOne(
        { _id: id, password_hash: from },
        { $set: { password_hash: to } },
      );
      return matchedCount === 1;
    },

    async findById(id) {
      const document = await findDocument(id);
      // A tombstone has no username.
      return document?.username === undefined ? undefined : userOfDocument(document);
    },

    async findByLogin(login) {
      const projection = { ...PUBLIC_FIELDS, password_hash: 1 };
      const find = (filter: object) => collection.findOne<UserDocument>({ ...filter }, { projection });
      let document: UserDocument | null = null;
      if ('usernameKey' in login) document = await find({ username_key: login.usernameKey });
      else {
        const verified = { email_verified: true };
        // Two accounts from before domains were compared as A-labels are each found by their own spelling.
        if (login.formerKey !== undefined) document = await find({ email_key: login.formerKey, ...verified });
        if (document === null || emailKey(document.email ?? '') !== login.emailKey)
          document = await find({ email_key: login.emailKey, ...verified });
      }
      return document === null
        ? undefined
        : { user: userOfDocument(document), passwordHash: document.password_hash ?? null };
    },

    async passwordHashOf(id) {
      const projection = { password_hash: 1 };
      return (await collection.findOne<UserDocument>({ _id: id }, { projection }))?.password_hash;
    },

    async update(id, { claimsEmail, ...changes }, ifVersion, by) {
      const update = await claiming(changes.email, omitUndefined({ claimsEmail }), (contested) =>
        writes.update(
          id,
          (it, revision) => {
            const change = changeUser(it, changes, { ...revision, by });
            const next = contested ? { ...change.next, emailContested: true } : change.next;
            const { onlyIf: adminIsLeft } = withAdminLeft(it, next, by);
            const nameIsFree = withFreeUsername(it, next);
            const onlyIf = async () => {
              await nameIsFree?.();
              await adminIsLeft?.();
            };
            return { ...change, next, onlyIf };
          },
          ifVersion,
        ),
      );
      return { user: userWithoutPassword(update.next), events: update.accountChanges };
    },

    async verifyEmail(id, email) {
      const update = await proven(id, email, () =>
        writes.update(id, (it, revision) => verifyEmail(it, email, revision)),
      );
      return userWithoutPassword(update.next);
    },

    async restoreEmail(id, email) {
      const update = await proven(id, email, () =>
        writes.update(id, (it, revision) => restoreEmail(it, email, revision)),
      );
      return { user: userWithoutPassword(update.next), events: update.accountChanges };
    },

    async changeSecurity(id, change, ifVersion, by) {
      const update = await writes.update(
        id,
        (it, revision) => {
          const update = changeSecurity(it, change, { ...revision, by });
          return update && { ...update, ...withAdminLeft(it, update.next, by) };
        },
        ifVersion,
      );
      return update && { user: userWithoutPassword(update.next), events: update.accountChanges };
    },

    async remove(id, ifVersion, by) {
      const { accountChange } = await writes.remove(
        id,
        (current, revision) => {
          const deletion = deleteUser(current, { ...revision, by });
          const { epoch, signInEpoch } = deletion.accountChange;
          const keep = { epoch, sign_in_epoch: signInEpoch };
          return { ...deletion, keep, ...withAdminLeft(current, undefined, by) };
        },
        ifVersion,
      );
      return accountChange;
    },

    async findTaken({ username, email, claimsEmail }) {
      const usernameKeys = username === undefined ? [] : usernameLookAlikes(username);
      const addressKey = typeof email === 'string' ? emailLookAlike(email) : undefined;
      const keys = [...usernameKeys, addressKey].filter((key) => key !== undefined);
      if (keys.length === 0) return [];
      const found = await findHolders(keys);
      const isHeld = ({ held_username: held, username_held_until: until }: UserDocument) =>
        usernameKeys.includes(held ?? '') && until != null && until > new Date();
      const isUsernameTaken = found.some(
        (it) => usernameKeys.some((key) => it.look_alikes?.includes(key)) || isHeld(it),
      );
      const isEmailTaken = found.some(
        (it) =>
          addressKey !== undefined &&
          it.look_alikes?.includes(addressKey) &&
          claimsEmail !== 'any' &&
          (it.email_verified || claimsEmail === undefined),
      );
      return [
        ...(isUsernameTaken ? (['username'] as const) : []),
        ...(isEmailTaken ? (['email'] as const) : []),
      ];
    },
  };
}

function isActiveAdmin({ role, status }: Account): boolean {
  return role === 'admin' && status === 'active';
}

function userWithoutPassword(account: Account) {
  const { passwordHash, emailContested, formerEmailKey, sharedLookAlikes, ...record } = account;
  return userOf(record);
}
