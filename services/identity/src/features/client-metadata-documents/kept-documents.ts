import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';

const COLLECTION = 'client_metadata_documents';

type KeptDocument = { _id: string; text: string; expires_at: Date };

/** The last usable documents of clients that somebody has allowed, by their URLs; defines its collection on the connection. */
export function createKeptDocuments(connection: Connection, options: { seconds: number }) {
  const documents = defineCollection<KeptDocument>(connection, COLLECTION, [{ fields: { expires_at: 1 } }]);
  return {
    collection: COLLECTION,
    async find(_id: string): Promise<string | undefined> {
      return (await documents.findOne({ _id, expires_at: { $gt: new Date() } }))?.text;
    },
    async save(_id: string, text: string): Promise<void> {
      const expires_at = new Date(Date.now() + options.seconds * 1000);
      await documents.updateOne({ _id }, { $set: { text, expires_at } }, { upsert: true });
    },
  };
}
