import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { type Connection, type InferSchemaType, Schema } from 'mongoose';
import {
  LINK_PURPOSES,
  type LinkPurpose,
  type OneTimeLink,
  type OneTimeLinkStore,
  type StoredLink,
} from './one-time-link.ts';

const COLLECTION = 'one_time_links';

/** One document for each person and purpose, so that a new link replaces the earlier one (see idOf). */
const schema = new Schema(
  {
    _id: { type: String, required: true },
    purpose: { type: String, required: true },
    user_id: { type: String, required: true },
    email: { type: String, required: true },
    epoch: { type: Number, required: true },
    token_hash: { type: String, required: true },
    expires_at: { type: Date, required: true },
  },
  { versionKey: false, strict: 'throw' },
);
type LinkDocument = InferSchemaType<typeof schema>;
schema.index({ token_hash: 1 }, { unique: true });
schema.index({ expires_at: 1 });

/** One-time links in MongoDB; defines its model on the connection. */
export function createOneTimeLinkStore(connection: Connection): OneTimeLinkStore {
  const links = connection.model<LinkDocument>('OneTimeLink', schema, COLLECTION);

  async function put(link: StoredLink): Promise<void> {
    const { _id, ...fields } = documentOf(link);
    await links.updateOne({ _id }, { $set: fields }, { upsert: true });
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
      // Of two concurrent requests, the later one wins.
      await put(link).catch((error: unknown) => {
        if (duplicateKeyField(error) !== '_id') throw error;
        return put(link);
      });
    },
    async restore(link) {
      const { _id, ...fields } = documentOf(link);
      await links.updateOne({ _id }, { $setOnInsert: fields }, { upsert: true }).catch((error: unknown) => {
        if (duplicateKeyField(error) !== '_id') throw error;
      });
    },
    async find(purpose, tokenHash) {
      return linkOf(await links.findOne(unexpired(purpose, tokenHash)).lean());
    },
    async take(purpose, tokenHash) {
      return linkOf(await links.findOneAndDelete(unexpired(purpose, tokenHash)).lean());
    },
    async removeAllOf(userId) {
      for (const purpose of LINK_PURPOSES) {
        await links.deleteOne({ _id: idPrefix(purpose, userId) });
        await links.deleteMany({ _id: idsByAddress(purpose, userId) });
      }
    },
    async removeAfter(purpose, userId, time) {
      await links.deleteMany({ _id: idsByAddress(purpose, userId), expires_at: { $gt: time } });
    },
  };
}

const idPrefix = (purpose: LinkPurpose, userId: string) => `${purpose}:${userId}`;
/** The ids of those links of a person and purpose that are told apart by their address. */
const idsByAddress = (purpose: LinkPurpose, userId: string) => ({
  $gte: `${idPrefix(purpose, userId)}:`,
  $lt: `${idPrefix(purpose, userId)};`,
});

/** Whoever changes the address again must not void the link to the first one: each address has its own. */
function idOf({ purpose, userId, email }: StoredLink): string {
  const prefix = idPrefix(purpose, userId);
  return purpose === 'undo_email_change' ? `${prefix}:${email}` : prefix;
}

function documentOf(link: StoredLink): LinkDocument {
  const { purpose, userId, email, epoch, tokenHash, expiresAt } = link;
  return {
    _id: idOf(link),
    purpose,
    user_id: userId,
    email,
    epoch,
    token_hash: tokenHash,
    expires_at: expiresAt,
  };
}

function linkOf(document: LinkDocument | null): OneTimeLink | undefined {
  if (document === null) return undefined;
  const { user_id, email, epoch, expires_at } = document;
  return { userId: user_id, email, epoch, expiresAt: expires_at };
}
