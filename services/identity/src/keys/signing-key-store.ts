import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { KEY_RING, type SigningKeyStore } from './signing-keys.ts';

const { read, write } = createDocumentMapper(KEY_RING);

/** Signing keys in MongoDB, one document for each algorithm; defines its collection on the connection. */
export function createSigningKeyStore(connection: Connection): SigningKeyStore {
  const rings = defineCollection<StoredOf<typeof KEY_RING>>(connection, 'key_rings', []);
  return {
    async all() {
      return (await rings.find().toArray()).map(read);
    },
    async versions() {
      const documents = await rings.find({}, { projection: { version: 1 } }).toArray();
      return documents.map(({ _id, version }) => ({ algorithm: _id, version }));
    },
    async insertIfNone(ring) {
      try {
        await rings.insertOne({ _id: ring.algorithm, ...write(ring) });
      } catch (error) {
        if (duplicateKeyField(error) === undefined) throw error;
      }
    },
    async replace(ring) {
      const before = { _id: ring.algorithm, version: ring.version - 1 };
      return (await rings.updateOne(before, { $set: write(ring) })).matchedCount === 1;
    },
  };
}
