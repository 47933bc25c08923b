import { foldedKey } from '@gatehouse/kit/folded-key';
import { newId } from '@gatehouse/kit/ids';
import { duplicateKeyField } from '@gatehouse/mongo/duplicate-key';
import { type Collection, type Connection, Schema } from 'mongoose';
import {
  type AccountChanged,
  type StandingChange,
  TakenError,
  type User,
  type UserChanges,
  type UserRole,
  type UserStatus,
  type UserStore,
  userOf,
} from './user.ts';

/** An event that waits for its delivery, in the document of its cause. */
export type StoredEvent = {
  id: string;
  subject: typeof ACCOUNT_CHANGED;
  at: Date;
  data: { user_id: string; epoch: number; sign_in_epoch: number; reason: AccountChanged['reason'] };
};

export const ACCOUNT_CHANGED = 'users.account.changed';

/**
 * As stored. The keys are what usernames and emails are unique by; whoever is deleted has none, and by that every
 * query leaves them out. Fields that may be absent are so in documents of earlier versions.
 */
type UserDocument = {
  _id: string;
  username: string;
  username_key: string;
  email: string | null;
  email_key: string | null;
  email_verified?: boolean;
  name?: string | null;
  first_name?: string | null;
  last_name?: string | null;
  phone?: string | null;
  picture?: string | null;
  role: UserRole;
  status: UserStatus;
  password_hash: string | null;
  epoch?: number;
  sign_in_epoch?: number;
  created_at: Date;
  updated_at: Date;
  deleted_at?: Date;
  outbox?: StoredEvent[];
};

const schema = new Schema<UserDocument>(
  {
    _id: { type: String, required: true },
    username: { type: String, required: true },
    username_key: { type: String, required: true },
    email: { type: String, default: null },
    email_key: { type: String, default: null },
    email_verified: { type: Boolean, default: false },
    name: { type: String, default: null },
    first_name: { type: String, default: null },
    last_name: { type: String, default: null },
    phone: { type: String, default: null },
    picture: { type: String, default: null },
    role: { type: String, required: true },
    status: { type: String, required: true },
    password_hash: { type: String, default: null },
    epoch: { type: Number, default: 0 },
    sign_in_epoch: { type: Number, default: 0 },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
    deleted_at: Date,
    outbox: { type: [Schema.Types.Mixed], default: undefined },
  },
  { versionKey: false, strict: 'throw' },
);
// Partial, as any number of people may have no address, and the deleted have no username either. Written as a
// comparison, because the planner sees that an equality implies it; of { $type: 'string' } it does not, and would
// read the whole collection.
schema.index(
  { username_key: 1 },
  { name: 'living_username_key', unique: true, partialFilterExpression: { username_key: { $gt: '' } } },
);
schema.index({ email_key: 1 }, { unique: true, partialFilterExpression: { email_key: { $gt: '' } } });
// For the sweep of what is not delivered yet (OUTBOX_INDEX of @gatehouse/events/outbox-relay).
schema.index(
  { 'outbox.at': 1 },
  { name: 'outbox', partialFilterExpression: { 'outbox.at': { $gt: new Date(0) } } },
);

/** Everybody who is not deleted; served, and counted, from the index on username_key. */
const LIVING = { username_key: { $gt: '' } };

/** What a read brings along: everything of a User, and never the password's hash. */
const PUBLIC_FIELDS = {
  username: 1,
  email: 1,
  email_verified: 1,
  name: 1,
  first_name: 1,
  last_name: 1,
  phone: 1,
  picture: 1,
  role: 1,
  status: 1,
  epoch: 1,
  sign_in_epoch: 1,
  created_at: 1,
  updated_at: 1,
} as const;

/** Later than before, also within one millisecond or when the clock goes back. */
const LATER = { $max: ['$$NOW', { $add: ['$updated_at', 1] }] };
const raised = (field: string) => ({ $add: [{ $ifNull: [`$${field}`, 0] }, 1] });

/** Users in MongoDB; defines its model on the connection. */
export function createUserStore(connection: Connection): UserStore & { prepare(): Promise<void> } {
  const users = connection.model<UserDocument>('User', schema, 'users');
  // The driver's own methods where each microsecond counts, and for writes: the aggregate has validated, and
  // hydrating and casting would cost thrice as much.
  const collection: Collection<UserDocument> = users.collection as unknown as Collection<UserDocument>;

  /** One update of one living user; each stage sees what the one before it has set. */
  async function change(id: string, condition: object, stages: Record<string, unknown>[]) {
    const document = await collection
      .findOneAndUpdate({ _id: id, ...LIVING, ...condition }, stages, {
        returnDocument: 'after',
        projection: PUBLIC_FIELDS,
      })
      .catch(asTaken);
    return document ?? undefined;
  }

  return {
    /** Once after the connection is there: takes away the index by which earlier versions kept usernames unique. */
    async prepare() {
      await collection.dropIndex('username_key_1').catch((error: unknown) => {
        if ((error as { codeName?: string }).codeName !== 'IndexNotFound') throw error;
      });
    },

    async insert({ passwordHash, ...user }) {
      await collection
        .insertOne({
          _id: user.id,
          ...fieldsOf(user),
          username: user.username,
          username_key: foldedKey(user.username),
          email: user.email,
          email_key: user.email === null ? null : foldedKey(user.email),
          email_verified: user.emailVerified,
          role: user.role,
          status: user.status,
          password_hash: passwordHash,
          epoch: user.epoch,
          sign_in_epoch: user.signInEpoch,
          created_at: user.createdAt,
          updated_at: user.updatedAt,
        })
        .catch(asTaken);
    },

    async findById(id) {
      const document = await users.findOne({ _id: id, ...LIVING }, PUBLIC_FIELDS).lean();
      return document === null ? undefined : read(document);
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
      return (await users.findOne({ _id: id, ...LIVING }, { password_hash: 1 }).lean())?.password_hash;
    },

    async page({ limit, offset }) {
      const [documents, total] = await Promise.all([
        // Hinted, as the planner might also take the condition's index and sort.
        users.find(LIVING, PUBLIC_FIELDS).sort({ _id: 1 }).hint({ _id: 1 }).skip(offset).limit(limit).lean(),
        users.countDocuments(LIVING),
      ]);
      return { users: documents.map(read), total };
    },

    async update(id, { username, email, ...others }) {
      const fields = {
        ...fieldsOf(others),
        ...(username === undefined ? {} : { username, username_key: foldedKey(username) }),
        ...(email === undefined ? {} : { email, email_key: foldedKey(email) }),
      };
      const verified =
        email === undefined
          ? {}
          : { email_verified: { $and: ['$email_verified', { $eq: ['$email', { $literal: email }] }] } };
      const document = await change(id, {}, [
        { $set: { ...literals(fields), ...verified, updated_at: LATER } },
      ]);
      return document && read(document);
    },

    async verifyEmail(id, email) {
      const document = await change(id, { email }, [{ $set: { email_verified: true, updated_at: LATER } }]);
      return document && read(document);
    },

    async changeStanding(id, standing) {
      const { condition, fields, endsSessions } = standingOf(standing);
      const document = await change(id, condition, [
        {
          $set: {
            ...literals(fields),
            epoch: raised('epoch'),
            ...(endsSessions ? { sign_in_epoch: raised('sign_in_epoch') } : {}),
            updated_at: LATER,
          },
        },
        { $set: { outbox: withEvent(standing.reason) } },
      ]);
      return document && { user: read(document), event: eventOf(document, standing.reason) };
    },

    async remove(id) {
      const document = await change(id, {}, [
        { $set: { epoch: raised('epoch'), sign_in_epoch: raised('sign_in_epoch') } },
        {
          $replaceWith: {
            _id: '$_id',
            epoch: '$epoch',
            sign_in_epoch: '$sign_in_epoch',
            deleted_at: '$$NOW',
            outbox: withEvent('deleted'),
          },
        },
      ]);
      return document && eventOf(document, 'deleted');
    },

    async taken(username, email) {
      const keys = [{ username_key: foldedKey(username) }, { email_key: foldedKey(email) }];
      const other = await users.findOne({ $or: keys }, { username_key: 1 }).lean();
      if (other === null) return undefined;
      return other.username_key === foldedKey(username) ? 'username' : 'email';
    },
  };
}

/** What a change of standing writes, on which condition, and whether it ends sessions, too. */
function standingOf(standing: StandingChange) {
  switch (standing.reason) {
    case 'password': {
      const { passwordHash, currentHash } = standing;
      const condition = currentHash === undefined ? {} : { password_hash: currentHash };
      return { condition, fields: { password_hash: passwordHash }, endsSessions: true };
    }
    case 'role':
      return {
        condition: { role: { $ne: standing.role } },
        fields: { role: standing.role },
        endsSessions: false,
      };
    case 'status': {
      const { status } = standing;
      return {
        condition: { status: { $ne: status } },
        fields: { status },
        endsSessions: status === 'inactive',
      };
    }
  }
}

/** The outbox with one more event, as an expression over a document whose epochs are raised already. */
function withEvent(reason: AccountChanged['reason']) {
  const event = {
    id: newId('evt'),
    subject: ACCOUNT_CHANGED,
    at: '$$NOW',
    data: { user_id: '$_id', epoch: '$epoch', sign_in_epoch: { $ifNull: ['$sign_in_epoch', 0] }, reason },
  };
  return { $concatArrays: [{ $ifNull: ['$outbox', []] }, [event]] };
}

function eventOf(
  { _id, epoch = 0, sign_in_epoch = 0 }: Pick<UserDocument, '_id' | 'epoch' | 'sign_in_epoch'>,
  reason: AccountChanged['reason'],
): AccountChanged {
  return { userId: _id, epoch, signInEpoch: sign_in_epoch, reason };
}

/** The names under which the fields that need no key are stored; what is absent stays absent. */
function fieldsOf(changes: Omit<UserChanges, 'username' | 'email'>) {
  const { name, firstName, lastName, phone, picture } = changes;
  const fields = { name, first_name: firstName, last_name: lastName, phone, picture };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Keeps a value that begins with a dollar sign from being read as a path. */
function literals(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, { $literal: value }]));
}

function read(document: Pick<UserDocument, '_id' | keyof typeof PUBLIC_FIELDS>): User {
  return userOf({
    id: document._id,
    username: document.username,
    email: document.email,
    emailVerified: document.email_verified ?? false,
    name: document.name ?? null,
    firstName: document.first_name ?? null,
    lastName: document.last_name ?? null,
    phone: document.phone ?? null,
    picture: document.picture ?? null,
    role: document.role,
    status: document.status,
    epoch: document.epoch ?? 0,
    signInEpoch: document.sign_in_epoch ?? 0,
    createdAt: document.created_at,
    updatedAt: document.updated_at,
  });
}

function asTaken(error: unknown): never {
  const field = duplicateKeyField(error);
  if (field === 'username_key') throw new TakenError('username');
  if (field === 'email_key') throw new TakenError('email');
  // Of somebody who is there, or of somebody who was deleted and whose events still wait.
  if (field === '_id') throw new TakenError('id');
  throw error;
}
