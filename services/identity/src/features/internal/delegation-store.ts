import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { DELEGATION, type DelegationStore } from './delegations.ts';

const COLLECTION = 'delegations';

/** Its id is the hash of the handle. */
type DelegationDocument = StoredOf<typeof DELEGATION> & { _id: string };
const { read, write } = createDocumentMapper(DELEGATION);

/** Delegations in MongoDB; defines its collection on the connection. */
export function createDelegationStore(connection: Connection): DelegationStore {
  const delegations = defineCollection<DelegationDocument>(connection, COLLECTION, [
    { fields: { expires_at: 1 } },
  ]);
  return {
    collection: COLLECTION,
    async insert(handleHash, delegation) {
      await delegations.insertOne({ _id: handleHash, ...write(delegation) });
    },
    async removeAllOf(personId) {
      await delegations.deleteMany({ person_id: personId });
    },
    async find(handleHash) {
      // The sweeper comes late: what has expired does not count.
      const found = await delegations.findOne({ _id: handleHash, expires_at: { $gt: new Date() } });
      return found === null ? undefined : read(found);
    },
  };
}
