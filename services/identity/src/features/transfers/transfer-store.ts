import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { insertInSlot } from '@gatehouse/data/slots';
import { type Connection, Schema } from 'mongoose';
import { MAX_PENDING, type PendingTransfer, type TransferStore } from './transfers.ts';

const COLLECTION = 'application_transfers';

type TransferDocument = {
  _id: string;
  client_id: string;
  application_updated_at: Date;
  offered_by: string;
  sender_epoch: number;
  to: string;
  /** From 0 to MAX_PENDING - 1, unique for a recipient, which limits what they are offered. */
  slot: number;
  created_at: Date;
  expires_at: Date;
};

const schema = new Schema<TransferDocument>(
  {
    _id: { type: String, required: true },
    client_id: { type: String, required: true },
    application_updated_at: { type: Date, required: true },
    offered_by: { type: String, required: true },
    sender_epoch: { type: Number, required: true },
    to: { type: String, required: true },
    slot: { type: Number, required: true },
    created_at: { type: Date, required: true },
    expires_at: { type: Date, required: true },
  },
  { versionKey: false, strict: 'throw' },
);
schema.index({ client_id: 1 }, { unique: true });
schema.index({ to: 1, slot: 1 }, { unique: true });
schema.index({ expires_at: 1 });

/** Pending transfers in MongoDB; defines its model on the connection. */
export function createTransferStore(connection: Connection): TransferStore & { collection: string } {
  const transfers = connection.model<TransferDocument>('ApplicationTransfer', schema, COLLECTION);
  /** The sweeper comes late: what has expired does not count. */
  const pending = () => ({ expires_at: { $gt: new Date() } });
  return {
    collection: COLLECTION,
    async insert(transfer) {
      const { to } = transfer;
      await transfers.deleteMany({ to, expires_at: { $lte: new Date() } });
      await transfers.deleteOne({ client_id: transfer.clientId });
      try {
        return await insertInSlot({
          limit: MAX_PENDING,
          field: 'to',
          taken: () => transfers.find({ to }, { slot: 1 }).lean(),
          insert: (slot) => transfers.create({ ...documentOf(transfer), slot }),
        });
      } catch (error) {
        if (duplicateKeyField(error) === 'client_id') return undefined;
        throw error;
      }
    },
    async of(clientId) {
      const document = await transfers.findOne({ client_id: clientId, ...pending() }).lean();
      return document === null ? undefined : transferOf(document);
    },
    async to(userId) {
      return (await transfers.find({ to: userId, ...pending() }).lean())
        .map(transferOf)
        .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    },
    async remove(id) {
      return (await transfers.deleteOne({ _id: id, ...pending() })).deletedCount === 1;
    },
  };
}

function documentOf(transfer: PendingTransfer): Omit<TransferDocument, 'slot'> {
  return {
    _id: transfer.id,
    client_id: transfer.clientId,
    application_updated_at: transfer.applicationUpdatedAt,
    offered_by: transfer.offeredBy,
    sender_epoch: transfer.senderEpoch,
    to: transfer.to,
    created_at: transfer.createdAt,
    expires_at: transfer.expiresAt,
  };
}

function transferOf(document: TransferDocument): PendingTransfer {
  return {
    id: document._id,
    clientId: document.client_id,
    applicationUpdatedAt: document.application_updated_at,
    offeredBy: document.offered_by,
    senderEpoch: document.sender_epoch,
    to: document.to,
    createdAt: document.created_at,
    expiresAt: document.expires_at,
  };
}
