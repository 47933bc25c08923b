import { newId } from '@gatehouse/core/ids';
import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { insertInSlot } from '@gatehouse/data/slots';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { MAX_MEMBERS, MAX_MEMBERSHIPS, MEMBER, type MemberStore } from '../member.ts';

const COLLECTION = 'application_members';

type MemberDocument = StoredOf<typeof MEMBER> & {
  /** From 0 to MAX_MEMBERS - 1, unique for an application, which limits its members. */
  slot: number;
};
const { read, write } = createDocumentMapper(MEMBER);

/** Members of applications in MongoDB; defines their collection on the connection. */
export function createMemberStore(connection: Connection): MemberStore {
  const members = defineCollection<MemberDocument>(connection, COLLECTION, [
    { fields: { client_id: 1, slot: 1 }, options: { unique: true } },
    { fields: { user_id: 1, client_id: 1 }, options: { unique: true } },
  ]);
  return {
    collection: COLLECTION,
    async find(client_id, user_id) {
      const document = await members.findOne({ client_id, user_id });
      return document === null ? undefined : read(document);
    },
    async of(client_id) {
      return (await members.find({ client_id }).toArray())
        .map(read)
        .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    },
    async clientIdsOf(user_id) {
      const accepted = { user_id, is_pending: { $ne: true } };
      const found = members.find(accepted, { projection: { client_id: 1 } }).limit(MAX_MEMBERSHIPS);
      return (await found.toArray()).map(({ client_id }) => client_id);
    },
    async ofPerson(user_id) {
      return (await members.find({ user_id }).toArray())
        .map(read)
        .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    },
    async put({ clientId, userId, role, given }) {
      const known = { client_id: clientId, user_id: userId };
      const setRole = async () =>
        (await members.updateOne(known, { $set: { role, given } })).matchedCount === 1;
      if (await setRole()) return true;
      const member = {
        id: newId('mbr'),
        clientId,
        userId,
        role,
        given,
        createdAt: new Date(),
        isPending: true,
      };
      const isAdded = await insertInSlot({
        limit: MAX_MEMBERS,
        field: 'client_id',
        taken: () => members.find({ client_id: clientId }, { projection: { slot: 1 } }).toArray(),
        insert: (slot) => members.insertOne({ _id: member.id, ...write(member), slot }),
      }).catch((error: unknown) => {
        if (duplicateKeyField(error) !== 'user_id') throw error;
        return false;
      });
      // Another request may have added the same person meanwhile, perhaps in the last place.
      return isAdded || setRole();
    },
    async accept(client_id, user_id) {
      const pending = { client_id, user_id, is_pending: true };
      return (await members.updateOne(pending, { $set: { is_pending: false } })).matchedCount === 1;
    },
    async remove(client_id, user_id) {
      return (await members.deleteOne({ client_id, user_id })).deletedCount === 1;
    },
    async removeAllOf(client_id) {
      await members.deleteMany({ client_id });
    },
    async removePerson(user_id) {
      await members.deleteMany({ user_id });
    },
  };
}
