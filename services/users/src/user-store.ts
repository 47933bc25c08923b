import { duplicateKeyField } from '@gatehouse/mongo/duplicate-key';
import { type Collection, type Connection, Schema } from 'mongoose';
import { foldedKey, TakenError, type User, type UserRole, type UserStatus, type UserStore } from './user.ts';

/** As stored. The keys are what usernames and emails are unique by. */
type UserDocument = {
  _id: string;
  username: string;
  username_key: string;
  email: string | null;
  email_key: string | null;
  role: UserRole;
  status: UserStatus;
  password_hash: string | null;
  created_at: Date;
  updated_at: Date;
};

const schema = new Schema<UserDocument>(
  {
    _id: { type: String, required: true },
    username: { type: String, required: true },
    username_key: { type: String, required: true },
    email: { type: String, default: null },
    email_key: { type: String, default: null },
    role: { type: String, required: true },
    status: { type: String, required: true },
    password_hash: { type: String, default: null },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
  },
  { versionKey: false, strict: 'throw' },
);
schema.index({ username_key: 1 }, { unique: true });
// Partial, as any number of people may have no address. Written as a comparison, because the planner sees that
// an equality implies it; of { $type: 'string' } it does not, and would read the whole collection.
schema.index({ email_key: 1 }, { unique: true, partialFilterExpression: { email_key: { $gt: '' } } });

/** What a read brings along: everything of a User, and never the password's hash. */
const PUBLIC_FIELDS = {
  username: 1,
  email: 1,
  role: 1,
  status: 1,
  created_at: 1,
  updated_at: 1,
} as const;

/** Users in MongoDB; defines its model on the connection. */
export function createUserStore(connection: Connection): UserStore {
  const users = connection.model<UserDocument>('User', schema, 'users');
  const collection: Collection<UserDocument> = users.collection as unknown as Collection<UserDocument>;

  return {
    async insert({ passwordHash, ...user }) {
      const document: UserDocument = {
        _id: user.id,
        username: user.username,
        username_key: foldedKey(user.username),
        email: user.email,
        email_key: user.email === null ? null : foldedKey(user.email),
        role: user.role,
        status: user.status,
        password_hash: passwordHash,
        created_at: user.createdAt,
        updated_at: user.updatedAt,
      };
      // The driver's own insert: the aggregate has validated, and a hydrated document would cost thrice as much.
      await collection.insertOne(document).catch(asTaken);
    },

    async findById(id) {
      const document = await users.findById(id, PUBLIC_FIELDS).lean();
      return document === null ? undefined : userOf(document);
    },

    async page({ limit, offset }) {
      const [documents, total] = await Promise.all([
        users.find({}, PUBLIC_FIELDS).sort({ _id: 1 }).skip(offset).limit(limit).lean(),
        users.countDocuments(),
      ]);
      return { users: documents.map(userOf), total };
    },

    async update(id, { username, email }) {
      const fields = {
        ...(username === undefined ? {} : { username, username_key: foldedKey(username) }),
        ...(email === undefined ? {} : { email, email_key: foldedKey(email) }),
      };
      // A pipeline, so that updated_at grows even within one millisecond or when the clock goes back.
      // $literal keeps a value that begins with a dollar sign from being read as a path.
      const literal = Object.fromEntries(
        Object.entries(fields).map(([key, value]) => [key, { $literal: value }]),
      );
      const updatedAt = { $max: ['$$NOW', { $add: ['$updated_at', 1] }] };
      const document = await users
        .findOneAndUpdate({ _id: id }, [{ $set: { ...literal, updated_at: updatedAt } }], {
          returnDocument: 'after',
          projection: PUBLIC_FIELDS,
          updatePipeline: true,
        })
        .lean()
        .catch(asTaken);
      return document === null ? undefined : userOf(document);
    },

    async remove(id) {
      const { deletedCount } = await users.deleteOne({ _id: id });
      return deletedCount === 1;
    },

    async taken(username, email) {
      const keys = [{ username_key: foldedKey(username) }, { email_key: foldedKey(email) }];
      const other = await users.findOne({ $or: keys }, { username_key: 1 }).lean();
      if (other === null) return undefined;
      return other.username_key === foldedKey(username) ? 'username' : 'email';
    },
  };
}

function userOf(document: Omit<UserDocument, 'username_key' | 'email_key' | 'password_hash'>): User {
  return {
    id: document._id,
    username: document.username,
    email: document.email,
    role: document.role,
    status: document.status,
    createdAt: document.created_at,
    updatedAt: document.updated_at,
  };
}

function asTaken(error: unknown): never {
  const field = duplicateKeyField(error);
  if (field === 'username_key') throw new TakenError('username');
  if (field === 'email_key') throw new TakenError('email');
  throw error;
}
