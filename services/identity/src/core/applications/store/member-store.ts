import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { insertInSlots, oldestOfMost } from '@gatehouse/data/slots';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { MAX_INVITED, MAX_INVITED_BY_ONE, MAX_MEMBERS, MEMBER, type MemberStore } from '../member.ts';

const COLLECTION = 'application_members';

type MemberDocument = StoredOf<typeof MEMBER> & {
  /** From 0 to MAX_MEMBERS - 1, unique for an application, which limits its members. */
  slot: number;
  /** From 0 to MAX_INVITED - 1, unique for a person, which limits the invitations that wait for them. Absent once accepted. */
  invited_slot?: number;
  /** The same for a person and `inviter`, which limits those that one person has sent. */
  inviter_slot?: number;
  inviter?: string;
};
const { read, write, update } = createDocumentMapper(MEMBER);

const FULL = {
  slot: `An application can have ${MAX_MEMBERS} members. Remove one first.`,
  invited_slot: `This user already has ${MAX_INVITED} invitations to applications that are not accepted.`,
  inviter_slot: `This user has not accepted ${MAX_INVITED_BY_ONE} invitations of yours. Wait for them, or withdraw one.`,
};

/** Members of applications in MongoDB; defines their collection on the connection. */
export function createMemberStore(connection: Connection): MemberStore {
  const members = defineCollection<MemberDocument>(connection, COLLECTION, [
    { fields: { client_id: 1, slot: 1 }, options: { unique: true } },
    { fields: { user_id: 1, client_id: 1 }, options: { unique: true } },
    // The slots come first, so that the name of the violated index says which one is taken.
    {
      fields: { invited_slot: 1, user_id: 1 },
      options: { unique: true, partialFilterExpression: { invited_slot: { $gte: 0 } } },
    },
    {
      fields: { inviter_slot: 1, user_id: 1, inviter: 1 },
      options: { unique: true, partialFilterExpression: { inviter_slot: { $gte: 0 } } },
    },
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
    async ofPerson(user_id) {
      return (await members.find({ user_id }).toArray())
        .map(read)
        .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    },
    async put({ clientId, userId, role, given, invited }, inviter) {
      const known = { client_id: clientId, user_id: userId };
      const setRole = async () =>
        (await members.updateOne(known, update({ role, given, invited }))).matchedCount === 1;
      if (await setRole()) return;
      const member = {
        id: newId('mbr'),
        clientId,
        userId,
        role,
        given,
        invited,
        createdAt: new Date(),
        isPending: true,
        accepted: undefined,
      };
      const waiting = { user_id: userId, is_pending: true };
      const insert = () =>
        insertInSlots(
          {
            slot: {
              limit: MAX_MEMBERS,
              field: 'client_id',
              taken: () => members.find({ client_id: clientId }, { projection: { slot: 1 } }).toArray(),
            },
            // Before all of them: nobody gives way to one that is too many for its inviter.
            inviter_slot: {
              limit: inviter.limit,
              field: 'inviter_slot',
              taken: () => members.find({ ...waiting, inviter: inviter.id }).toArray(),
            },
            invited_slot: {
              limit: MAX_INVITED,
              field: 'invited_slot',
              taken: () => members.find(waiting).toArray(),
            },
          },
          (slots) => members.insertOne({ _id: member.id, ...write(member), inviter: inviter.id, ...slots }),
        ).catch((error: unknown) => {
          if (duplicateKeyField(error) !== 'user_id') throw error;
          return 'slot' as const;
        });
      const evictOne = async () => {
        const all = await members.find<MemberDocument>(waiting).sort({ created_at: 1 }).toArray();
        const ended = oldestOfMost(all, (it) => it.inviter, inviter.id);
        if (ended !== undefined) await members.deleteOne({ _id: ended._id, is_pending: true });
        return ended !== undefined;
      };
      let full = await insert();
      while (full === 'invited_slot' && (await evictOne())) full = await insert();
      // Another request may have added the same person meanwhile, perhaps in the last place.
      if (full !== undefined && !(await setRole())) throw new ServiceError('conflict', FULL[full]);
    },
    async setGiven(client_id, user_id, given) {
      await members.updateOne({ client_id, user_id }, update({ given }));
    },
    async accept(client_id, user_id, accepted) {
      const { matchedCount } = await members.updateOne(
        { client_id, user_id, 'accepted.epoch': { $not: { $gte: accepted.epoch } } },
        {
          ...update({ isPending: false, accepted }),
          $unset: { invited_slot: 1, inviter_slot: 1, inviter: 1 },
        },
      );
      return matchedCount === 1;
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
