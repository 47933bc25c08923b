import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { INVITATION, type Invitation, type InvitationStore, MAX_INVITATIONS } from './invitation.ts';

const COLLECTION = 'invitations';
type InvitationDocument = StoredOf<typeof INVITATION>;
const { read, write } = createDocumentMapper(INVITATION);

/** Invitations in MongoDB; defines its collection on the connection. */
export function createInvitationStore(connection: Connection): InvitationStore {
  const invitations = defineCollection<InvitationDocument>(connection, COLLECTION, [
    { fields: { email_key: 1 }, options: { unique: true } },
    { fields: { token_hash: 1 }, options: { unique: true } },
    { fields: { expires_at: 1 } },
  ]);
  /** The sweeper comes late: what has expired does not count. */
  const waiting = () => ({ expires_at: { $gt: new Date() } });
  const optional = (document: InvitationDocument | null) => (document === null ? undefined : read(document));

  async function insert(invitation: Invitation): Promise<void> {
    await invitations.insertOne({ _id: invitation.id, ...write(invitation) });
  }

  return {
    collection: COLLECTION,
    async put(invitation) {
      await invitations.deleteOne({ email_key: invitation.emailKey });
      if ((await invitations.countDocuments(waiting())) >= MAX_INVITATIONS) return false;
      // Of two at the same time, the other one is as good: both were mailed, and one works.
      await insert(invitation).catch((error: unknown) => {
        if (duplicateKeyField(error) !== 'email_key') throw error;
      });
      return true;
    },
    async list() {
      return (await invitations.find(waiting()).sort({ _id: -1 }).toArray()).map(read);
    },
    find: async (token_hash) => optional(await invitations.findOne({ token_hash, ...waiting() })),
    take: async (token_hash) => optional(await invitations.findOneAndDelete({ token_hash, ...waiting() })),
    async restore(invitation) {
      await insert(invitation).catch((error: unknown) => {
        if (duplicateKeyField(error) === undefined) throw error;
      });
    },
    remove: async (_id) => (await invitations.deleteOne({ _id })).deletedCount === 1,
  };
}
