import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { createListPlan } from '@gatehouse/data/list-plan';
import type { Migration } from '@gatehouse/data/migrations';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { StoredOf } from '@gatehouse/domain/fields';
import { emailKey, foldedKey } from '@gatehouse/domain/folded-key';
import { nameWordsOf } from '@gatehouse/domain/search-words';
import { emailLookAlike, usernameLookAlike, usernameLookAlikes } from '../look-alikes/look-alikes.ts';
import { type Account, type User, type UserField, userOf } from '../user.ts';
import { ACCOUNT, NO_ADDRESS, USER } from '../user-fields.ts';

/** As stored. Usernames and emails are unique and sorted by their keys. */
export type UserDocument = StoredOf<typeof ACCOUNT> &
  VersionedDocument & {
    username_key: string;
    email_key: string;
    /** Unique: the keys of what looks like the username, and like an address that is not contested. Absent in documents of earlier releases. */
    look_alikes?: string[];
    /** Folded, one a line: the username, the names and the email address before its @. */
    search_text: string;
    /** The words of these and of the domain. */
    search_words: string[];
  };

const users = createDocumentMapper(USER);
const accounts = createDocumentMapper(ACCOUNT);

/** Matches every user that is not deleted, by the index on username_key. */
export const NOT_DELETED = { username_key: { $gt: '' } };

/** Matches those who can do everything. A deleted user has no role. */
export const ACTIVE_ADMINS = { role: 'admin', status: 'active' } as const;

export const USER_LISTS = createListPlan<UserField>({
  fields: {
    ...users.listFields,
    text: { stored: 'search_words', type: 'words', text: 'search_text' },
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
  const { email, email_key: key } = document;
  const isFormer = email != null && key === foldedKey(email) && key !== emailKey(email);
  const sharedLookAlikes = (document.look_alikes ?? [])
    .filter((it) => it.includes(NO_ADDRESS))
    .map((it) => it.slice(0, it.indexOf(NO_ADDRESS)));
  const shared = sharedLookAlikes.length > 0 && { sharedLookAlikes };
  return { ...accounts.read(document), emailContested, ...(isFormer && { formerEmailKey: key }), ...shared };
}

/** The stored fields, and those by which users are found. */
export function storedFields(account: Account): Omit<UserDocument, '_id'> {
  return {
    ...accounts.write(account),
    username_key: foldedKey(account.username),
    email_key: uniqueEmailKey(account),
    look_alikes: lookAlikesOf(account),
    ...searchFields(account),
  };
}

/**
 * The fields by which searches find a user: by the beginnings of words, which are indexed, and by what the text contains. Thousands have the
 * same domain, so that only its words are looked for.
 */
export function searchFields({
  username,
  email,
  name,
  firstName,
  lastName,
}: Pick<Account, 'username' | 'email' | 'name' | 'firstName' | 'lastName'>) {
  const [local = '', domain = ''] = foldedKey(email ?? '').split('@');
  const names = [username, name ?? '', [firstName, lastName].filter(Boolean).join(' ')].map(foldedKey);
  const text = [...new Set([...names, local])].filter(Boolean).join('\n');
  return { search_text: text, search_words: nameWordsOf(`${text}\n${domain}`) };
}

/** Not of documents that an earlier release has written. */
export const LOOK_ALIKES_INDEX = {
  fields: { look_alikes: 1 },
  options: { unique: true, sparse: true },
} as const;

/** In the order in which they are applied. */
export const USER_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'users are found by words',
    async run({ connection, convertEach }) {
      await convertEach<UserDocument>('users', (document) => {
        // A tombstone has no username.
        if (document.username === undefined) return [];
        const unchanged = { _id: document._id, version: document.version, search_words: { $exists: false } };
        const update = { $set: searchFields(accountOf(document)), $unset: { search_texts: '' as const } };
        return [{ updateOne: { filter: unchanged, update } }];
      });
      const dropped = connection.collection('users').dropIndex('search_texts_1__id_1');
      await dropped.catch((error: { codeName?: string }) => {
        if (!['NamespaceNotFound', 'IndexNotFound'].includes(error.codeName ?? '')) throw error;
      });
    },
  },
  {
    version: 1,
    name: 'domains of addresses are compared as A-labels',
    async run({ connection, logger }) {
      const collection = connection.collection<UserDocument>('users');
      const kept: string[] = [];
      for await (const document of collection.find({ email: /[^\0-\x7f]/ })) {
        const { formerEmailKey, ...account } = accountOf(document);
        if (formerEmailKey === undefined) continue;
        const unchanged = { _id: document._id, email: account.email, email_key: formerEmailKey };
        const update = { $set: { email_key: uniqueEmailKey(account) } };
        await collection.updateOne(unchanged, update).catch((error: unknown) => {
          if (duplicateKeyField(error) === undefined) throw error;
          kept.push(document._id);
        });
      }
      if (kept.length > 0)
        logger.warn(
          { count: kept.length, users: kept },
          'the addresses of these users are those of others, too',
        );
    },
  },
  {
    version: 1,
    name: 'names that look alike are taken',
    async run({ connection, convertEach, logger }) {
      const collection = connection.collection<UserDocument>('users');
      await collection.createIndex(LOOK_ALIKES_INDEX.fields, LOOK_ALIKES_INDEX.options);
      let count = 0;
      const write = (document: UserDocument, sharedLookAlikes: readonly string[] = []) => {
        const { _id, version = null, held_username: held } = document;
        const $set = {
          look_alikes: lookAlikesOf({ ...accountOf(document), sharedLookAlikes }),
          ...(held && { held_username: usernameLookAlike(held) }),
        };
        return { filter: { _id, version, look_alikes: { $exists: false } }, update: { $set } };
      };
      await convertEach<UserDocument>(
        'users',
        // A tombstone has no username.
        (document) => (document.username === undefined ? [] : [{ updateOne: write(document) as never }]),
        async (document) => {
          const keys = lookAlikesOf(accountOf(document));
          const holders = await collection.find({ look_alikes: { $in: keys } }).toArray();
          const shared = keys.filter((key) => holders.some((it) => it.look_alikes?.includes(key)));
          const { filter, update } = write(document, shared);
          await collection.updateOne(filter as never, update);
          count += 1;
          const users = [document._id, ...holders.map(({ _id }) => _id)];
          logger.warn({ users }, 'the names of these users look alike');
        },
      );
      if (count > 0) logger.warn({ count }, 'the names of users look like those of others');
    },
  },
];

function lookAlikesOf({ id, username, email, emailContested = false, sharedLookAlikes = [] }: Account) {
  const names = usernameLookAlikes(username);
  if (email !== null && !emailContested) names.push(emailLookAlike(email));
  return names.map((it) => (sharedLookAlikes.includes(it) ? it + NO_ADDRESS + id : it));
}

function uniqueEmailKey({ id, email, emailContested = false, formerEmailKey }: Account): string {
  if (email === null) return NO_ADDRESS + id;
  if (emailContested) return emailKey(email) + NO_ADDRESS + id;
  return formerEmailKey === foldedKey(email) ? formerEmailKey : emailKey(email);
}
