import { hash } from 'node:crypto';
import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';

const COLLECTION = 'seen';

type SeenDocument = { _id: string; expires_at: Date };

/** Remembers for some time what has been seen, for all replicas; defines its collection on the connection. */
export function createSeenStore(connection: Connection) {
  const seen = defineCollection<SeenDocument>(connection, COLLECTION, [{ fields: { expires_at: 1 } }]);
  const idOf = (parts: readonly string[]) => hash('sha256', JSON.stringify(parts), 'base64url');
  return {
    collection: COLLECTION,
    /** Whether this has been seen, and the time for which it is remembered is not over. */
    async has(parts: readonly string[]): Promise<boolean> {
      return (await seen.findOne({ _id: idOf(parts), expires_at: { $gt: new Date() } })) !== null;
    },
    /** Whether this is seen for the first time in `seconds`, from the last time on. Of concurrent calls, one gets true. */
    async isNew(parts: readonly string[], seconds: number): Promise<boolean> {
      const expires_at = new Date(Date.now() + seconds * 1000);
      const { upsertedCount } = await seen.updateOne(
        { _id: idOf(parts) },
        { $set: { expires_at } },
        { upsert: true },
      );
      return upsertedCount === 1;
    },
  };
}
