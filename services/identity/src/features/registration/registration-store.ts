import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { REGISTRATION, type RegistrationStore } from './registration.ts';

type RegistrationDocument = StoredOf<typeof REGISTRATION>;
const { read, write, update } = createDocumentMapper(REGISTRATION);
/** How many one query returns. */
const BATCH = 100;

/** Registrations in MongoDB; defines its collection on the connection. */
export function createRegistrationStore(connection: Connection): RegistrationStore {
  const registrations = defineCollection<RegistrationDocument>(connection, 'registrations', [
    { fields: { check_at: 1 } },
    { fields: { owner: 1, is_used: 1, _id: 1 } },
  ]);
  return {
    async insert(registration) {
      await registrations.insertOne({ _id: registration.id, ...write(registration) });
    },
    async find(_id) {
      const found = await registrations.findOne({ _id });
      return found === null ? undefined : read(found);
    },
    async replaceToken({ id: _id, tokenHash: token_hash }, changes) {
      return (await registrations.updateOne({ _id, token_hash }, update(changes))).matchedCount === 1;
    },
    async remove(_id) {
      await registrations.deleteOne({ _id });
    },
    async removeAllOf(owner) {
      await registrations.deleteMany({ owner });
    },
    async due() {
      const found = registrations.find({ check_at: { $lte: new Date() } }).sort({ check_at: 1 });
      return (await found.limit(BATCH).toArray()).map(read);
    },
    async unusedWithoutOwner(except) {
      // Their ids are in the order of time.
      const found = registrations.find({ owner: null, is_used: false }).sort({ _id: -1 });
      return (await found.skip(except).limit(BATCH).toArray()).map(read);
    },
    async checked(_id, result) {
      await registrations.updateOne({ _id }, update(result));
    },
  };
}
