import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { RemovedDocuments } from '@gatehouse/data/removed-documents';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { LINKED_IDENTITY, type LinkedIdentity, type LinkedIdentityStore } from './linked-identity.ts';

const { read, write } = createDocumentMapper(LINKED_IDENTITY);

/** How many sessions of a provider are known of an identity: the last ones. */
const MAX_SESSIONS = 20;

/** Linked identities in MongoDB; defines its collection on the connection. */
export function createLinkedIdentityStore(
  connection: Connection,
  removed: Pick<RemovedDocuments, 'keep' | 'find'>,
): LinkedIdentityStore {
  type IdentityDocument = StoredOf<typeof LINKED_IDENTITY> & { sids?: string[] };
  const identities = defineCollection<IdentityDocument>(connection, 'linked_identities', [
    { fields: { user_id: 1, provider: 1 }, options: { unique: true } },
    { fields: { sids: 1 } },
    { fields: { provider: 1 } },
  ]);

  async function insert(identity: LinkedIdentity): Promise<boolean> {
    try {
      await identities.insertOne({ _id: identity.id, ...write(identity) });
      return true;
    } catch (error) {
      if (duplicateKeyField(error) === undefined) throw error;
      return false;
    }
  }

  return {
    insert,
    async find(_id) {
      const document = await identities.findOne({ _id });
      return document === null ? undefined : read(document);
    },
    async list(userId) {
      const documents = await identities.find({ user_id: userId }).sort({ created_at: 1 }).toArray();
      return documents.map(read);
    },
    async used({ id: _id, userId: user_id, label, name, picture }, at) {
      const { matchedCount } = await identities.updateOne(
        { _id, user_id },
        { $set: { last_used_at: at, label, name, picture } },
      );
      return matchedCount === 1;
    },
    async addSession(_id, sid) {
      const sids = { $each: [sid], $slice: -MAX_SESSIONS };
      await identities.updateOne({ _id, sids: { $ne: sid } }, { $push: { sids } });
    },
    async findBySession(provider, sid) {
      const document = await identities.findOne({ sids: sid, provider });
      return document === null ? undefined : read(document);
    },
    async remove(userId, id) {
      const document = await identities.findOne({ _id: id, user_id: userId });
      if (document === null) return false;
      await removed.keep('identity', userId, document);
      return (await identities.deleteOne({ _id: id, user_id: userId })).deletedCount === 1;
    },
    async restore(userId, id, before) {
      const document = await removed.find<IdentityDocument>('identity', userId, id);
      return document !== undefined && document.created_at < before && insert(read(document));
    },
    count: (provider) => identities.countDocuments({ provider }),
    async removeAll(userId, since) {
      const those = { user_id: userId, ...(since && { created_at: { $gte: since } }) };
      return (await identities.deleteMany(those)).deletedCount;
    },
  };
}
