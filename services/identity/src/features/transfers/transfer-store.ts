import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { insertInSlots, oldestOfMost } from '@gatehouse/data/slots';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { MAX_PENDING, TRANSFER, type TransferStore } from './transfers.ts';

const COLLECTION = 'application_transfers';

type TransferDocument = StoredOf<typeof TRANSFER> & {
  /** From 0 to MAX_PENDING - 1, unique for a recipient, which limits what they are offered. */
  slot: number;
  /** The same for a recipient and a sender, which limits what one person offers. */
  sender_slot?: number;
};
const { read, write } = createDocumentMapper(TRANSFER);

/** Pending transfers in MongoDB; defines its collection on the connection. */
export function createTransferStore(connection: Connection): TransferStore & { collection: string } {
  const transfers = defineCollection<TransferDocument>(connection, COLLECTION, [
    { fields: { client_id: 1 }, options: { unique: true } },
    { fields: { to: 1, slot: 1 }, options: { unique: true } },
    {
      fields: { sender_slot: 1, to: 1, offered_by: 1 },
      options: { unique: true, partialFilterExpression: { sender_slot: { $gte: 0 } } },
    },
    { fields: { expires_at: 1 } },
  ]);
  /** The sweeper comes late: what has expired does not count. */
  const pending = () => ({ expires_at: { $gt: new Date() } });
  return {
    collection: COLLECTION,
    async insert(transfer, limitOfSender) {
      const { id: _id, to, offeredBy: offered_by } = transfer;
      await transfers.deleteMany({ to, expires_at: { $lte: new Date() } });
      await transfers.deleteOne({ client_id: transfer.clientId });
      const insert = () =>
        insertInSlots(
          {
            // Before all of them: nobody gives way to one that is too many for its sender.
            sender_slot: {
              limit: limitOfSender,
              field: 'sender_slot',
              taken: () => transfers.find({ to, offered_by }).toArray(),
            },
            slot: { limit: MAX_PENDING, field: 'to', taken: () => transfers.find({ to }).toArray() },
          },
          (slots) => transfers.insertOne({ _id, ...write(transfer), ...slots }),
        );
      const evictOne = async () => {
        const all = await transfers.find<TransferDocument>({ to }).sort({ created_at: 1 }).toArray();
        const ended = oldestOfMost(all, (it) => it.offered_by, offered_by);
        if (ended !== undefined) await transfers.deleteOne({ _id: ended._id });
        return ended !== undefined;
      };
      try {
        let full = await insert();
        while (full === 'slot' && (await evictOne())) full = await insert();
        return full === undefined;
      } catch (error) {
        if (duplicateKeyField(error) === 'client_id') return undefined;
        throw error;
      }
    },
    async of(clientId) {
      const document = await transfers.findOne({ client_id: clientId, ...pending() });
      return document === null ? undefined : read(document);
    },
    async to(userId) {
      return (await transfers.find({ to: userId, ...pending() }).toArray())
        .map(read)
        .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    },
    async remove(id) {
      return (await transfers.deleteOne({ _id: id, ...pending() })).deletedCount === 1;
    },
  };
}
