import { foldedKey } from '@gatehouse/kit/folded-key';
import { type Counts, createCounts } from '@gatehouse/mongo/counts';
import { duplicateKeyField } from '@gatehouse/mongo/duplicate-key';
import { onceInDatabase } from '@gatehouse/mongo/once';
import type { Collection, Connection } from 'mongoose';
import { type IfVersion, TakenError, type UserStore } from './user.ts';
import {
  announcements,
  changeOf,
  conditionOf,
  creationEvent,
  deletion,
  eventsOf,
  standingChangeOf,
  storedNames,
  verificationOf,
  type Write,
} from './user-store-changes.ts';
import {
  LIVING,
  NO_ADDRESS,
  PUBLIC_FIELDS,
  read,
  type UserDocument,
  userSchema,
} from './user-store-document.ts';
import { createUserLists } from './user-store-lists.ts';

/** Users in MongoDB; defines its model on the connection. */
export function createUserStore(
  connection: Connection,
  counts: Counts = createCounts(),
): UserStore & { prepare(): Promise<void> } {
  const users = connection.model<UserDocument>('User', userSchema, 'users');
  // The driver's own methods where each microsecond counts, and for writes: the aggregate has validated, and
  // hydrating and casting would cost thrice as much.
  const collection: Collection<UserDocument> = users.collection as unknown as Collection<UserDocument>;
  const lists = createUserLists(connection.collection('users'), counts);

  /** One write of one living user. */
  async function change(id: string, condition: object, write: Write) {
    return counts.change(() => writeTo(id, condition, write));
  }

  async function writeTo(id: string, condition: object, write: Write) {
    const document = await collection
      .findOneAndUpdate({ _id: id, ...LIVING, ...condition }, write.stages, {
        returnDocument: 'after',
        projection:
          write.eventIds.length === 0 ? PUBLIC_FIELDS : { ...PUBLIC_FIELDS, outbox: eventsOf(write) },
      })
      .catch(asTaken);
    return document ?? undefined;
  }

  return {
    ...lists,

    /**
     * Once after the connection is there, for what earlier versions have stored: takes away the index by which they
     * kept usernames unique, and gives a key to who has no address.
     */
    async prepare() {
      await collection.dropIndex('username_key_1').catch((error: unknown) => {
        if ((error as { codeName?: string }).codeName !== 'IndexNotFound') throw error;
      });
      await onceInDatabase(connection, 'keys of users without an address', async () => {
        const without = { ...LIVING, email_key: null as never };
        await collection.updateMany(without, [{ $set: { email_key: { $concat: [NO_ADDRESS, '$_id'] } } }]);
      });
    },

    async insert({ passwordHash, ...user }) {
      const insert = () =>
        collection
          .insertOne({
            _id: user.id,
            ...storedNames(user),
            username: user.username,
            username_key: foldedKey(user.username),
            email: user.email,
            email_key: user.email === null ? NO_ADDRESS + user.id : foldedKey(user.email),
            email_verified: user.emailVerified,
            role: user.role,
            status: user.status,
            password_hash: passwordHash,
            epoch: user.epoch,
            sign_in_epoch: user.signInEpoch,
            version: user.version,
            created_at: user.createdAt,
            updated_at: user.updatedAt,
            outbox: [creationEvent(user.id, user.version, user.createdAt)],
          })
          .catch(asTaken);
      await counts.resize(insert, () => 1);
    },

    async findById(id) {
      // By the id alone, which the database finds without planning; what is left of the deleted has no name.
      const document = await collection.findOne({ _id: id }, { projection: PUBLIC_FIELDS });
      return document?.username === undefined ? undefined : read(document);
    },

    async findByLogin(login) {
      const filter =
        'emailKey' in login
          ? { email_key: login.emailKey, email_verified: true }
          : { username_key: login.usernameKey };
      const projection = { ...PUBLIC_FIELDS, password_hash: 1 };
      const document = await collection.findOne(filter, { projection });
      return document === null ? undefined : { user: read(document), passwordHash: document.password_hash };
    },

    async passwordHashOf(id) {
      return (await collection.findOne({ _id: id }, { projection: { password_hash: 1 } }))?.password_hash;
    },

    async update(id, changes, ifVersion) {
      const document = await change(id, inVersion(ifVersion), changeOf(changes));
      return document && { user: read(document), events: announcements(document.outbox) };
    },

    async verifyEmail(id, email) {
      const document = await change(id, { email }, verificationOf());
      return document && read(document);
    },

    async changeStanding(id, standing, ifVersion) {
      const condition = { ...conditionOf(standing), ...inVersion(ifVersion) };
      const document = await change(id, condition, standingChangeOf(standing));
      const [event] = announcements(document?.outbox);
      return document && event && { user: read(document), event };
    },

    async remove(id, ifVersion) {
      const document = await counts.resize(
        () => writeTo(id, inVersion(ifVersion), deletion()),
        (found) => (found === undefined ? 0 : -1),
      );
      return announcements(document?.outbox)[0];
    },

    async taken({ username, email }) {
      const usernameKey = username === undefined ? undefined : foldedKey(username);
      const emailKey = typeof email === 'string' ? foldedKey(email) : undefined;
      const keys = [
        ...(usernameKey === undefined ? [] : [{ username_key: usernameKey }]),
        ...(emailKey === undefined ? [] : [{ email_key: emailKey }]),
      ];
      if (keys.length === 0) return [];
      const others = await users.find({ $or: keys }, { username_key: 1, email_key: 1 }).lean();
      return [
        ...(others.some((other) => other.username_key === usernameKey) ? (['username'] as const) : []),
        ...(others.some((other) => other.email_key === emailKey) ? (['email'] as const) : []),
      ];
    },
  };
}

/** Documents of before there were versions have none, which is as good as 0. */
function inVersion(versions: IfVersion): Record<string, unknown> {
  if (versions === undefined) return {};
  return { version: { $in: versions.includes(0) ? [...versions, null] : versions } };
}

function asTaken(error: unknown): never {
  const field = duplicateKeyField(error);
  if (field === 'username_key') throw new TakenError('username');
  if (field === 'email_key') throw new TakenError('email');
  // Of somebody who is there, or of somebody who was deleted and whose events still wait.
  if (field === '_id') throw new TakenError('id');
  throw error;
}
