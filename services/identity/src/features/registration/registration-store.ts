import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { REGISTRATION, type RegistrationStore } from './registration.ts';

type RegistrationDocument = StoredOf<typeof REGISTRATION>;
const { read, write, update } = createDocumentMapper(REGISTRATION);

/** Registrations in MongoDB; defines its collection on the connection. */
export function createRegistrationStore(connection: Connection): RegistrationStore {
  const registrations = defineCollection<RegistrationDocument>(connection, 'registrations', []);
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
  };
}
