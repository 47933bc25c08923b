import { randomBytes } from 'node:crypto';
import { defineCollection } from '@gatehouse/data/collection';
import mongoose, { type Connection } from 'mongoose';
import type { Picture } from './picture.ts';

type PictureDocument = { _id: string; token: string; bytes: mongoose.mongo.Binary; created_at: Date };

export type PictureStore = ReturnType<typeof createPictureStore>;

/** The pictures that people have uploaded, in MongoDB, one document for each account; defines its collection on the connection. */
export function createPictureStore(connection: Connection) {
  const pictures = defineCollection<PictureDocument>(connection, 'pictures', [
    { fields: { token: 1 }, options: { name: 'token', unique: true } },
  ]);
  const read = (document: PictureDocument | null): Picture | undefined =>
    document === null
      ? undefined
      : {
          ...{ userId: document._id, token: document.token, bytes: document.bytes.value() },
          createdAt: document.created_at,
        };
  return {
    /** Takes the place of an earlier one. Returns the token, which nobody can guess. */
    async put(_id: string, bytes: Uint8Array): Promise<string> {
      const token = randomBytes(16).toString('base64url');
      const document = { token, bytes: new mongoose.mongo.Binary(bytes), created_at: new Date() };
      await pictures.replaceOne({ _id }, document, { upsert: true });
      return token;
    },
    findByToken: async (token: string) => read(await pictures.findOne({ token })),
    findByUser: async (_id: string) => read(await pictures.findOne({ _id })),
    async remove(_id: string): Promise<void> {
      await pictures.deleteOne({ _id });
    },
  };
}
