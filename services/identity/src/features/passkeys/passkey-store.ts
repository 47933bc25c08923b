import { ServiceError } from '@gatehouse/core/errors';
import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { RemovedDocuments } from '@gatehouse/data/removed-documents';
import { insertInSlot } from '@gatehouse/data/slots';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { MAX_PASSKEYS, PASSKEY, type Passkey, type PasskeyStore } from './passkey.ts';

type PasskeyDocument = StoredOf<typeof PASSKEY> & {
  /** From 0 to MAX_PASSKEYS - 1, unique within an account, which limits its passkeys. */
  slot: number;
};
const { read, write } = createDocumentMapper(PASSKEY);

/** Passkeys in MongoDB; defines its collection on the connection. */
export function createPasskeyStore(
  connection: Connection,
  removed: Pick<RemovedDocuments, 'keep' | 'find'>,
): PasskeyStore {
  const passkeys = defineCollection<PasskeyDocument>(connection, 'passkeys', [
    { fields: { user_id: 1, slot: 1 }, options: { unique: true } },
    { fields: { credential_id: 1 }, options: { unique: true } },
  ]);

  function insert(passkey: Passkey): Promise<boolean> {
    const { id: _id, userId: user_id } = passkey;
    return insertInSlot({
      limit: MAX_PASSKEYS,
      field: 'user_id',
      taken: () => passkeys.find({ user_id }, { projection: { slot: 1 } }).toArray(),
      insert: (slot) => passkeys.insertOne({ _id, ...write(passkey), slot }),
    });
  }

  return {
    async insert(passkey) {
      return insert(passkey).catch((error: unknown) => {
        if (duplicateKeyField(error) !== 'credential_id') throw error;
        throw new ServiceError('conflict', 'This passkey has already been added.');
      });
    },

    async list(userId) {
      const documents = await passkeys.find({ user_id: userId }).sort({ created_at: 1 }).toArray();
      return documents.map(read);
    },

    async findByCredential(credentialId) {
      const document = await passkeys.findOne({ credential_id: credentialId });
      return document === null ? undefined : read(document);
    },

    async used(_id, { counter, isSynced, at }) {
      const { matchedCount } = await passkeys.updateOne(
        { _id, counter: counter === 0 ? 0 : { $lt: counter } },
        { $set: { counter, is_synced: isSynced, last_used_at: at } },
      );
      return matchedCount === 1;
    },

    async rename(userId, id, name) {
      const { matchedCount } = await passkeys.updateOne({ _id: id, user_id: userId }, { $set: { name } });
      return matchedCount === 1;
    },

    async remove(userId, id) {
      const document = await passkeys.findOne({ _id: id, user_id: userId });
      if (document === null) return false;
      await removed.keep('passkey', userId, document);
      return (await passkeys.deleteOne({ _id: id, user_id: userId })).deletedCount === 1;
    },

    async restore(userId, id, before) {
      const document = await removed.find<PasskeyDocument>('passkey', userId, id);
      if (document === undefined || document.created_at >= before) return false;
      return insert(read(document)).catch((error: unknown) => {
        if (duplicateKeyField(error) === undefined) throw error;
        return false;
      });
    },

    async removeAll(userId, since) {
      const those = { user_id: userId, ...(since && { created_at: { $gte: since } }) };
      return (await passkeys.deleteMany(those)).deletedCount;
    },
  };
}
