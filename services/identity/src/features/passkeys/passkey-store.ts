import { ServiceError } from '@gatehouse/core/errors';
import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { insertInSlot } from '@gatehouse/data/slots';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { MAX_PASSKEYS, PASSKEY, type PasskeyStore } from './passkey.ts';

type PasskeyDocument = StoredOf<typeof PASSKEY> & {
  /** From 0 to MAX_PASSKEYS - 1, unique within an account, which limits its passkeys. */
  slot: number;
};
const { read, write } = createDocumentMapper(PASSKEY);

/** Passkeys in MongoDB; defines its collection on the connection. */
export function createPasskeyStore(connection: Connection): PasskeyStore {
  const passkeys = defineCollection<PasskeyDocument>(connection, 'passkeys', [
    { fields: { user_id: 1, slot: 1 }, options: { unique: true } },
    { fields: { credential_id: 1 }, options: { unique: true } },
  ]);

  return {
    async insert(passkey) {
      const { id: _id, userId: user_id } = passkey;
      try {
        return await insertInSlot({
          limit: MAX_PASSKEYS,
          field: 'user_id',
          taken: () => passkeys.find({ user_id }, { projection: { slot: 1 } }).toArray(),
          insert: (slot) => passkeys.insertOne({ _id, ...write(passkey), slot }),
        });
      } catch (error) {
        if (duplicateKeyField(error) !== 'credential_id') throw error;
        throw new ServiceError('conflict', 'This passkey has already been added.');
      }
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
      return (await passkeys.deleteOne({ _id: id, user_id: userId })).deletedCount === 1;
    },

    async removeAll(userId) {
      return (await passkeys.deleteMany({ user_id: userId })).deletedCount;
    },
  };
}
