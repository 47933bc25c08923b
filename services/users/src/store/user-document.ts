import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { createListPlan } from '@gatehouse/data/list-plan';
import type { Migration } from '@gatehouse/data/migrations';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { StoredOf } from '@gatehouse/domain/fields';
import { foldedKey } from '@gatehouse/domain/folded-key';
import { type Account, type User, type UserField, userOf } from '../user.ts';
import { ACCOUNT, NO_ADDRESS, USER } from '../user-fields.ts';

/** As stored. Usernames and emails are unique and sorted by their keys. */
export type UserDocument = StoredOf<typeof ACCOUNT> &
  VersionedDocument & {
    username_key: string;
    email_key: string;
    /** The texts that searches match, see searchTexts(). */
    search_texts: string[];
  };

/** In the order in which they are applied. */
export const USER_MIGRATIONS: readonly Migration[] = [];

const users = createDocumentMapper(USER);
const accounts = createDocumentMapper(ACCOUNT);

/** The longest text that a search compares, and how many characters of a name it is looked for in. */
const SEARCH_LENGTH = 24;
const SEARCHED_CHARACTERS = 48;

/** Matches every user that is not deleted, by the index on username_key. */
export const NOT_DELETED = { username_key: { $gt: '' } };

/** Matches those who can do everything. A deleted user has no role. */
export const ACTIVE_ADMINS = { role: 'admin', status: 'active' } as const;

export const USER_LISTS = createListPlan<UserField>({
  fields: {
    ...users.listFields,
    text: { stored: 'search_texts', type: 'beginnings', length: SEARCH_LENGTH },
  },
  notDeleted: NOT_DELETED,
});

/** The projection of reads: all fields of a User, and never the password hash. */
export const PUBLIC_FIELDS = users.projection;

/** The stored fields of a property of a User. */
export function storedAs(property: string): readonly string[] {
  // A name that was not chosen is derived from the others.
  if (property === 'name') return ['name', 'first_name', 'last_name', 'username'];
  return users.storedAs(property);
}

/** The user of a document that is projected to PUBLIC_FIELDS. */
export function userOfDocument(document: StoredOf<typeof USER>): User {
  return userOf(users.read(document));
}

export function accountOf(document: UserDocument): Account {
  const emailContested = document.email !== null && document.email_key.includes(NO_ADDRESS);
  return { ...accounts.read(document), emailContested };
}

/** The stored fields, and those by which users are found. */
export function storedFields(account: Account): Omit<UserDocument, '_id'> {
  return {
    ...accounts.write(account),
    username_key: foldedKey(account.username),
    email_key: emailKey(account),
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
