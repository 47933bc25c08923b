import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { insertInSlot } from '@gatehouse/data/slots';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { API_KEY, type ApiKeyStore, MAX_KEYS } from './api-key.ts';

const COLLECTION = 'api_keys';

type ApiKeyDocument = StoredOf<typeof API_KEY> & {
  /** From 0 to MAX_KEYS - 1, unique within an application, which limits its keys. Absent once the key is revoked. */
  slot?: number;
  /** 1 from when it is revoked until the revocation has been written. */
  revocation_due?: 1;
};
const { read, write, update } = createDocumentMapper(API_KEY);

/** How many revoked keys one query returns. */
const BATCH = 100;
const NOT_REVOKED = { slot: { $gte: 0 } };

/** API keys in MongoDB; defines its collection on the connection. */
export function createApiKeyStore(connection: Connection): ApiKeyStore & { collection: string } {
  const keys = defineCollection<ApiKeyDocument>(connection, COLLECTION, [
    {
      fields: { client_id: 1, slot: 1 },
      options: { unique: true, partialFilterExpression: { slot: { $gte: 0 } } },
    },
    { fields: { hash: 1 }, options: { unique: true } },
    { fields: { expires_at: 1 } },
    { fields: { revocation_due: 1 }, options: { sparse: true } },
  ]);

  const isUnexpired = ({ expires_at }: ApiKeyDocument) => expires_at == null || expires_at > new Date();

  return {
    collection: COLLECTION,

    async insert(key) {
      const ofApplication = { client_id: key.clientId, ...NOT_REVOKED };
      // The sweeper may not have removed them yet.
      await keys.deleteMany({ ...ofApplication, expires_at: { $lte: new Date() } });
      return insertInSlot({
        limit: MAX_KEYS,
        field: 'client_id',
        taken: () => keys.find(ofApplication, { projection: { slot: 1 } }).toArray(),
        insert: (slot) => keys.insertOne({ _id: key.id, ...write(key), slot }),
      });
    },

    async list(clientId) {
      const documents = await keys.find({ client_id: clientId, ...NOT_REVOKED }).toArray();
      return documents
        .filter(isUnexpired)
        .map(read)
        .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    },

    async find(clientId, id) {
      const document = await keys.findOne({ _id: id, client_id: clientId, ...NOT_REVOKED });
      return document !== null && isUnexpired(document) ? read(document) : undefined;
    },

    async findByHash(hash) {
      const document = await keys.findOne({ hash, ...NOT_REVOKED });
      return document !== null && isUnexpired(document) ? read(document) : undefined;
    },

    async replace(key, successor, expiresAt) {
      const end = key.expiresAt !== null && key.expiresAt < expiresAt ? key.expiresAt : expiresAt;
      const { matchedCount } = await keys.updateOne(
        { _id: key.id, rotated_to: key.rotatedTo, ...NOT_REVOKED },
        { $set: { rotated_to: successor, expires_at: end } },
      );
      return matchedCount > 0;
    },

    async markRevoked(clientId, id) {
      // It may be repeated: a revocation that was interrupted is found and completed.
      const { matchedCount } = await keys.updateOne(
        { _id: id, client_id: clientId },
        { $set: { revocation_due: 1 }, $unset: { slot: 1 } },
      );
      return matchedCount > 0;
    },

    async forgetReplaced(clientId, id) {
      await keys.updateMany(
        { client_id: clientId, ...NOT_REVOKED, replaces: id },
        { $pull: { replaces: id } as never },
      );
    },

    async revocationWritten(id) {
      await keys.deleteOne({ _id: id, revocation_due: 1 });
    },

    async awaitingRevocation() {
      const revoked = keys.find({ revocation_due: 1 }, { projection: { _id: 1 }, limit: BATCH });
      return (await revoked.toArray()).map(({ _id }) => _id);
    },

    async removeAll(clientId) {
      await keys.deleteMany({ client_id: clientId, ...NOT_REVOKED });
    },

    async setGiven(clientId, id, given) {
      await keys.updateOne({ _id: id, client_id: clientId, ...NOT_REVOKED }, update({ given }));
    },

    async used(id, { at, address }) {
      await keys.updateOne(
        { _id: id, last_used_at: { $not: { $gte: at } } },
        { $set: { last_used_at: at, last_used_address: address } },
      );
    },
  };
}
