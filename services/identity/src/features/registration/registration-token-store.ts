import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { insertInSlot } from '@gatehouse/data/slots';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import {
  MAX_REGISTRATION_TOKENS,
  REGISTRATION_TOKEN,
  type RegistrationTokenStore,
} from './registration-token.ts';

const COLLECTION = 'registration_tokens';
type RegistrationTokenDocument = StoredOf<typeof REGISTRATION_TOKEN> & {
  /** From 0 to MAX_REGISTRATION_TOKENS - 1, unique for an owner, which limits their tokens. */
  slot: number;
};
const { read, write } = createDocumentMapper(REGISTRATION_TOKEN);

/** Registration tokens in MongoDB; defines its collection on the connection. */
export function createRegistrationTokenStore(connection: Connection): RegistrationTokenStore {
  const tokens = defineCollection<RegistrationTokenDocument>(connection, COLLECTION, [
    { fields: { owner: 1, slot: 1 }, options: { unique: true } },
    { fields: { token_hash: 1 }, options: { unique: true } },
    { fields: { expires_at: 1 } },
  ]);
  /** The sweeper comes late: what has expired does not count. */
  const valid = () => ({ expires_at: { $gt: new Date() } });

  return {
    collection: COLLECTION,
    async insert(token) {
      const { owner } = token;
      const ended = [{ expires_at: { $lte: new Date() } }, { owner_epoch: { $lt: token.ownerEpoch } }];
      await tokens.deleteMany({ owner, $or: ended });
      return insertInSlot({
        limit: MAX_REGISTRATION_TOKENS,
        field: 'owner',
        taken: () => tokens.find({ owner }, { projection: { slot: 1 } }).toArray(),
        insert: (slot) => tokens.insertOne({ _id: token.id, ...write(token), slot }),
      });
    },
    async list(owner, leastEpoch) {
      return (await tokens.find({ owner, ...valid() }).toArray())
        .map(read)
        .filter(({ ownerEpoch }) => ownerEpoch >= leastEpoch)
        .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
    },
    async take(token_hash) {
      const taken = await tokens.findOneAndUpdate(
        { token_hash, uses_left: { $gt: 0 }, ...valid() },
        { $inc: { uses_left: -1 } },
        { returnDocument: 'after' },
      );
      return taken === null ? undefined : read(taken);
    },
    async giveBack(_id) {
      await tokens.updateOne({ _id }, { $inc: { uses_left: 1 } });
    },
    async setEpoch(owner, ids, owner_epoch) {
      await tokens.updateMany({ _id: { $in: [...ids] }, owner }, { $set: { owner_epoch } });
    },
    remove: async (_id, owner) => (await tokens.deleteOne({ _id, owner })).deletedCount === 1,
    async removeAllOf(owner) {
      await tokens.deleteMany({ owner });
    },
  };
}
