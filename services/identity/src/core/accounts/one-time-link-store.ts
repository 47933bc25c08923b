import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import {
  LINK,
  LINK_PURPOSES,
  type LinkPurpose,
  type OneTimeLinkStore,
  STORED_LINK,
  type StoredLink,
} from './one-time-link.ts';

const COLLECTION = 'one_time_links';

/** One document for each person and purpose, so that a new link replaces the earlier one (see idOf). */
type LinkDocument = StoredOf<typeof STORED_LINK> & { _id: string };
const { read } = createDocumentMapper(LINK);
const { write } = createDocumentMapper(STORED_LINK);

/** One-time links in MongoDB; defines its collection on the connection. */
export function createOneTimeLinkStore(connection: Connection): OneTimeLinkStore {
  const links = defineCollection<LinkDocument>(connection, COLLECTION, [
    { fields: { token_hash: 1 }, options: { unique: true } },
    { fields: { expires_at: 1 } },
  ]);

  async function put(link: StoredLink): Promise<void> {
    await links.updateOne({ _id: idOf(link) }, { $set: write(link) }, { upsert: true });
  }

  /** The sweeper comes late: what has expired does not count. */
  const unexpired = (purpose: LinkPurpose, tokenHash: string) => ({
    token_hash: tokenHash,
    purpose,
    expires_at: { $gt: new Date() },
  });

  return {
    collection: COLLECTION,
    async put(link) {
      // The later one of two concurrent requests wins.
      await put(link).catch((error: unknown) => {
        if (duplicateKeyField(error) !== '_id') throw error;
        return put(link);
      });
    },
    async restore(link) {
      const update = { $setOnInsert: write(link) };
      await links.updateOne({ _id: idOf(link) }, update, { upsert: true }).catch((error: unknown) => {
        if (duplicateKeyField(error) !== '_id') throw error;
      });
    },
    async find(purpose, tokenHash) {
      const found = await links.findOne(unexpired(purpose, tokenHash));
      return found === null ? undefined : read(found);
    },
    async take(purpose, tokenHash) {
      const taken = await links.findOneAndDelete(unexpired(purpose, tokenHash));
      return taken === null ? undefined : read(taken);
    },
    async removeAllOf(userId) {
      for (const purpose of LINK_PURPOSES) {
        await links.deleteOne({ _id: idPrefix(purpose, userId) });
        await links.deleteMany({ _id: idsOfMany(purpose, userId) });
      }
    },
  };
}

const idPrefix = (purpose: LinkPurpose, userId: string) => `${purpose}:${userId}`;
/** The ids of the links of a person and purpose that differ by their change. */
const idsOfMany = (purpose: LinkPurpose, userId: string) => ({
  $gte: `${idPrefix(purpose, userId)}:`,
  $lt: `${idPrefix(purpose, userId)};`,
});

/** A further mail must not void the link in the first one: each change, and each stop has its own. An account has one earlier address. */
function idOf({ purpose, userId, tokenHash }: StoredLink): string {
  const prefix = idPrefix(purpose, userId);
  return purpose === 'undo_change' || purpose === 'stop_recovery' ? `${prefix}:${tokenHash}` : prefix;
}
