import { Schema } from 'mongoose';
import {
  type AccountChanged,
  type User,
  type UserEvent,
  type UserRole,
  type UserStatus,
  userOf,
} from './user.ts';

export const ACCOUNT_CHANGED = 'users.account.changed';

/** An event that waits for its delivery, in the document of its cause. */
export type StoredEvent = { id: string; at: Date } & (
  | {
      subject: typeof ACCOUNT_CHANGED;
      data: { user_id: string; epoch: number; sign_in_epoch: number; reason: AccountChanged['reason'] };
    }
  | UserEvent
);

/**
 * As stored. The keys are what usernames and emails are unique and sorted by; whoever is deleted has none, and by
 * that every query leaves them out. Fields that may be absent are so in documents of earlier versions.
 */
export type UserDocument = {
  _id: string;
  username: string;
  username_key: string;
  email: string | null;
  email_key: string;
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
  version?: number;
  created_at: Date;
  updated_at: Date;
  deleted_at?: Date;
  outbox?: StoredEvent[];
};

export const userSchema = new Schema<UserDocument>(
  {
    _id: { type: String, required: true },
    username: { type: String, required: true },
    username_key: { type: String, required: true },
    email: { type: String, default: null },
    email_key: { type: String, required: true },
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
    version: { type: Number, default: 0 },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
    deleted_at: Date,
    outbox: { type: [Schema.Types.Mixed], default: undefined },
  },
  { versionKey: false, strict: 'throw' },
);

/** The indexes that lists are read by; `_id_` is the database's own. */
export const INDEX = {
  id: '_id_',
  username: 'living_username_key',
  email: 'email_key_1',
  role: 'role_1__id_1',
  status: 'status_1__id_1',
  createdAt: 'created_at_1__id_1',
  updatedAt: 'updated_at_1__id_1',
} as const;

// Partial, as the deleted have no keys. Written as a comparison, because the planner sees that an equality implies
// it; of { $type: 'string' } it does not, and would read the whole collection.
userSchema.index(
  { username_key: 1 },
  { name: INDEX.username, unique: true, partialFilterExpression: { username_key: { $gt: '' } } },
);
userSchema.index(
  { email_key: 1 },
  { name: INDEX.email, unique: true, partialFilterExpression: { email_key: { $gt: '' } } },
);
// With the id, so that users who are equal by the field have an order, too, and a page can begin among them.
userSchema.index({ role: 1, _id: 1 }, { name: INDEX.role });
userSchema.index({ status: 1, _id: 1 }, { name: INDEX.status });
userSchema.index({ created_at: 1, _id: 1 }, { name: INDEX.createdAt });
userSchema.index({ updated_at: 1, _id: 1 }, { name: INDEX.updatedAt });
// For the sweep of what is not delivered yet (OUTBOX_INDEX of @gatehouse/events/outbox-relay).
userSchema.index(
  { 'outbox.at': 1 },
  { name: 'outbox', partialFilterExpression: { 'outbox.at': { $gt: new Date(0) } } },
);

/** Everybody who is not deleted; served, and counted, from the index on username_key. */
export const LIVING = { username_key: { $gt: '' } };

/**
 * What sorts before every address: the key of who has none is this and their id. So one index keeps addresses
 * unique and sorts everybody, and those without one come first. No folded text has it.
 */
export const NO_ADDRESS = '\0';

/** What a read brings along: everything of a User, and never the password's hash. */
export const PUBLIC_FIELDS = {
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
  version: 1,
  created_at: 1,
  updated_at: 1,
} as const;

/** A document as PUBLIC_FIELDS bring it. */
export type PublicDocument = Pick<UserDocument, '_id' | keyof typeof PUBLIC_FIELDS>;

export function read(document: PublicDocument): User {
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
    version: document.version ?? 0,
    createdAt: document.created_at,
    updatedAt: document.updated_at,
  });
}
