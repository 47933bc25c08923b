import { isDeepStrictEqual } from 'node:util';
import type { Migration, MigrationContext, Write } from '@gatehouse/data/migrations';
import { accountOf, storedFields, type UserDocument } from './user-document.ts';

/** In the order in which they are applied. */
export const USER_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'drop the unique index on usernames that includes deleted users',
    run: dropUsernameIndex,
  },
  { version: 1, name: 'store the keys and search texts of users', run: storeKeys },
];

async function dropUsernameIndex({ connection }: MigrationContext): Promise<void> {
  await connection
    .collection('users')
    .dropIndex('username_key_1')
    .catch((error: { codeName?: string }) => {
      if (!['IndexNotFound', 'NamespaceNotFound'].includes(error.codeName ?? '')) throw error;
    });
}

/** Keys were missing for users without an address, or of another case folding, and search texts were not stored at all. */
async function storeKeys({ convertEach }: MigrationContext): Promise<void> {
  await convertEach('users', (document: UserDocument): Write[] => {
    const { _id, version, username_key, email_key, search_texts } = document;
    // A deleted user has none.
    if (username_key === undefined) return [];
    const stored = storedFields(accountOf(document));
    const keys = {
      username_key: stored.username_key,
      email_key: stored.email_key,
      search_texts: stored.search_texts,
    };
    if (isDeepStrictEqual(keys, { username_key, email_key, search_texts })) return [];
    return [{ updateOne: { filter: { _id, version: version ?? null }, update: { $set: keys } } }];
  });
}
