import { createListPlan } from '@gatehouse/data/list-plan';
import { inSnakeCase } from '@gatehouse/data/list-source';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import { foldedKey } from '@gatehouse/domain/folded-key';
import {
  type Account,
  USER_ROLES,
  USER_STATUSES,
  type User,
  type UserField,
  type UserRole,
  type UserStatus,
  userOf,
} from '../user.ts';

/**
 * As stored. Usernames and emails are unique and sorted by their keys. Optional fields are absent from documents of
 * earlier versions.
 */
export type UserDocument = VersionedDocument & {
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
  created_at: Date;
  /** What searches find, see searchTexts(). */
  search_texts?: string[];
};

/** The longest text that a search compares, and how many characters of a name it is looked for in. */
const SEARCH_LENGTH = 24;
const SEARCHED_CHARACTERS = 48;

/** Matches every user that is not deleted, by the index on username_key. */
export const NOT_DELETED = { username_key: { $gt: '' } };

/** Matches those who can do everything. A deleted user has no role. */
export const ACTIVE_ADMINS = { role: 'admin', status: 'active' } as const;

/**
 * Stands before the id in the email key of users without an address, and after the address and before the id in that of
 * users whose address is contested: so one unique index sorts all users, those without an address first. No folded key
 * contains it.
 */
export const NO_ADDRESS = '\0';

export const USER_LISTS = createListPlan<UserField>({
  fields: {
    id: { stored: '_id', type: 'string', unique: true },
    username: { stored: 'username_key', type: 'folded', unique: true, index: 'living_username_key' },
    email: { stored: 'email_key', type: 'folded', unique: true, missingPrefix: NO_ADDRESS },
    role: { stored: 'role', type: 'enum', values: USER_ROLES, mostCommon: 'user' },
    status: { stored: 'status', type: 'enum', values: USER_STATUSES, mostCommon: 'active' },
    createdAt: { stored: 'created_at', type: 'date' },
    updatedAt: { stored: 'updated_at', type: 'date' },
    text: { stored: 'search_texts', type: 'beginnings', length: SEARCH_LENGTH },
  },
  notDeleted: NOT_DELETED,
});

/** The projection of reads: all fields of a User, and never the password hash. */
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

/** The stored fields of a property of a User. */
export function storedAs(property: string): readonly string[] {
  // A name that was not chosen is derived from the others.
  if (property === 'name') return ['name', 'first_name', 'last_name', 'username'];
  return [inSnakeCase(property)];
}

/** A document projected to PUBLIC_FIELDS. */
type PublicDocument = Pick<UserDocument, '_id' | keyof typeof PUBLIC_FIELDS>;

export function userOfDocument(document: PublicDocument): User {
  return userOf(recordOf(document));
}

export function accountOf(document: UserDocument): Account {
  const emailContested = document.email !== null && document.email_key.includes(NO_ADDRESS);
  return { ...recordOf(document), passwordHash: document.password_hash, emailContested };
}

function recordOf(document: PublicDocument): Omit<Account, 'passwordHash'> {
  return {
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
  };
}

/** The stored fields, without those of every VersionedDocument. */
export function storedFields(account: Account): Omit<UserDocument, keyof VersionedDocument> {
  return {
    username: account.username,
    username_key: foldedKey(account.username),
    email: account.email,
    email_key: emailKey(account),
    email_verified: account.emailVerified,
    name: account.name,
    first_name: account.firstName,
    last_name: account.lastName,
    phone: account.phone,
    picture: account.picture,
    role: account.role,
    status: account.status,
    password_hash: account.passwordHash,
    epoch: account.epoch,
    sign_in_epoch: account.signInEpoch,
    created_at: account.createdAt,
    search_texts: searchTexts(account),
  };
}

/**
 * The texts that begin at each character of a username, a name and an email address before its @, so that an index finds what any
 * of these contains. The part after the @ is found by its beginning only, as thousands have the same.
 */
export function searchTexts({
  username,
  email,
  name,
  firstName,
  lastName,
}: Pick<Account, 'username' | 'email' | 'name' | 'firstName' | 'lastName'>): string[] {
  const [local = '', domain = ''] = foldedKey(email ?? '').split('@');
  const texts = [username, name ?? '', [firstName, lastName].filter(Boolean).join(' ')].map(foldedKey);
  const found = [...texts, local].flatMap((text) => {
    const characters = [...text].slice(0, SEARCHED_CHARACTERS);
    return characters.map((_, at) => characters.slice(at, at + SEARCH_LENGTH).join(''));
  });
  return [...new Set([...found, domain.slice(0, SEARCH_LENGTH)])].filter((text) => text.length > 1);
}

function emailKey({ id, email, emailContested = false }: Account): string {
  if (email === null) return NO_ADDRESS + id;
  return emailContested ? foldedKey(email) + NO_ADDRESS + id : foldedKey(email);
}
