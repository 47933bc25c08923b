import type { Connection } from 'mongoose';
import { defineCollection } from './collection.ts';

/**
 * Removed documents, as they were stored, which can be restored within some time. Queries for documents in use do not see them. Writes are
 * durable when they resolve.
 */
export type RemovedDocuments = {
  collection: string;
  /** Before it is removed: a crash in between leaves it in both places, and loses nothing. */
  keep(kind: string, userId: string, document: { _id: string }, id?: string): Promise<void>;
  /** Undefined when it was removed too long ago. */
  find<D>(kind: string, userId: string, id: string): Promise<D | undefined>;
  all<D>(kind: string): AsyncIterable<D>;
  /** Changes a field of a document, if it is still there. */
  set(kind: string, id: string, field: string, value: string): Promise<boolean>;
  removeAllOf(userId: string): Promise<void>;
};
type RemovedDocument = { _id: string; kind: string; user_id: string; document: object; expires_at: Date };

/** The removed documents of people, in a collection that it defines on the connection, for `seconds` each. */
export function createRemovedDocuments(
  connection: Connection,
  { collection, seconds }: { collection: string; seconds: number },
): RemovedDocuments {
  const removed = defineCollection<RemovedDocument>(connection, collection, [
    { fields: { user_id: 1 } },
    { fields: { kind: 1 } },
    { fields: { expires_at: 1 } },
  ]);
  return {
    collection,
    async keep(kind, user_id, document, _id = document._id) {
      const expires_at = new Date(Date.now() + seconds * 1000);
      await removed.updateOne({ _id }, { $set: { kind, user_id, document, expires_at } }, { upsert: true });
    },
    async find<D>(kind: string, user_id: string, _id: string) {
      const found = await removed.findOne({ _id, kind, user_id, expires_at: { $gt: new Date() } });
      return found?.document as D | undefined;
    },
    async *all<D>(kind: string) {
      for await (const { document } of removed.find({ kind })) yield document as D;
    },
    async set(kind, _id, field, value) {
      const changes = { $set: { [`document.${field}`]: value } };
      return (await removed.updateOne({ _id, kind }, changes)).matchedCount === 1;
    },
    async removeAllOf(user_id) {
      await removed.deleteMany({ user_id });
    },
  };
}
