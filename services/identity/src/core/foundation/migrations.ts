import type { Migration, MigrationContext, Write } from '@gatehouse/data/migrations';
import { wordsOf } from '@gatehouse/domain/search-words';

/** In the order in which they are applied. */
export const IDENTITY_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'store sessions by uid', run: storeSessionsByUid },
  { version: 1, name: 'store the words in names of applications', run: storeWords },
];

type SessionDocument = { _id: string; uid?: string; id_hash?: string; ended?: boolean };

/** The hash of a session's id, which changes, was the _id of its document. */
async function storeSessionsByUid({ convertEach }: MigrationContext): Promise<void> {
  await convertEach('oidc_sessions', ({ _id, ...session }: SessionDocument): Write[] => {
    if (session.id_hash !== undefined || session.ended === true) return [];
    const { uid } = session;
    const stored = { $setOnInsert: { ...session, id_hash: _id } };
    return [
      ...(uid === undefined ? [] : [{ updateOne: { filter: { _id: uid }, update: stored, upsert: true } }]),
      { deleteOne: { filter: { _id } } },
    ];
  });
}

async function storeWords({ convertEach }: MigrationContext): Promise<void> {
  await convertEach(
    'applications',
    ({ _id, name, words }: { _id: string; name: string; words?: string[] }) =>
      words === undefined
        ? [{ updateOne: { filter: { _id, name }, update: { $set: { words: wordsOf(name) } } } }]
        : [],
  );
}
