import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { laterThan } from '@gatehouse/data/later-than';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { TRUSTED_ISSUER, type TrustedIssuerStore } from './trusted-issuer.ts';

type IssuerDocument = StoredOf<typeof TRUSTED_ISSUER>;
const { read, write, update } = createDocumentMapper(TRUSTED_ISSUER);

/** Trusted issuers in MongoDB; defines their collection on the connection. */
export function createTrustedIssuerStore(connection: Connection): TrustedIssuerStore {
  const issuers = defineCollection<IssuerDocument>(connection, 'trusted_issuers', [
    { fields: { issuer: 1 }, options: { unique: true } },
  ]);
  return {
    list: async () => (await issuers.find().sort({ _id: 1 }).toArray()).map(read),
    async find(_id) {
      const document = await issuers.findOne({ _id });
      return document === null ? undefined : read(document);
    },
    async insert(issuer) {
      try {
        await issuers.insertOne({ _id: issuer.id, ...write(issuer) });
        return true;
      } catch (error) {
        if (duplicateKeyField(error) === 'issuer') return false;
        throw error;
      }
    },
    async change(before, changes, ends) {
      const set = update({ ...changes, updatedAt: laterThan(before) });
      const document = await issuers.findOneAndUpdate(
        { _id: before.id, updated_at: before.updatedAt },
        { ...set, ...(ends ? { $inc: { generation: 1 } } : {}) },
        { returnDocument: 'after' },
      );
      return document === null ? undefined : read(document);
    },
    async revoked(_id, below) {
      await issuers.updateOne({ _id }, { $max: { revoked_below: below } });
    },
    async remove({ id: _id, generation }) {
      return (await issuers.deleteOne({ _id, generation, enabled: false })).deletedCount === 1;
    },
  };
}
