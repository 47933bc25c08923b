import { type Connection, Schema } from 'mongoose';

/** As stored: one document for each thing that is revoked. */
type RevocationDocument = {
  _id: string;
  kind: string;
  ref: string;
  epoch: number | null;
  /** When the last token it can hit has expired. */
  expires_at: Date;
  /** The database's clock, as one for all replicas. */
  updated_at: Date;
  /** Counts the writes, so that an announcement of an earlier one does not pass for that of a later. */
  revision: number;
  /** 1 until it has been broadcast. */
  pending?: 1;
};

export type StoredRevocation = {
  kind: string;
  id: string;
  epoch: number | undefined;
  expiresAt: Date;
  updatedAt: Date;
  revision: number;
};

export type RevocationStore = {
  collection: string;
  /** Keeps the higher epoch and the later expiry of what is there and what comes. Durable when it resolves. */
  put(entry: {
    kind: string;
    id: string;
    epoch: number | undefined;
    expiresAt: Date;
  }): Promise<StoredRevocation>;
  /** What has not been broadcast since it was written, the oldest first, at most a few hundred. */
  pending(): Promise<StoredRevocation[]>;
  announced(entry: StoredRevocation): Promise<void>;
  /** What was written at or after the time and has not expired; all when there is none. */
  since(time: Date | undefined): Promise<StoredRevocation[]>;
};

const COLLECTION = 'revocations';
const BATCH = 500;

const schema = new Schema<RevocationDocument>(
  {
    _id: { type: String, required: true },
    kind: { type: String, required: true },
    ref: { type: String, required: true },
    epoch: { type: Number, default: null },
    expires_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
    revision: { type: Number, required: true },
    pending: { type: Number },
  },
  { versionKey: false, strict: 'throw' },
);
schema.index({ expires_at: 1 });
schema.index({ updated_at: 1 });
schema.index({ pending: 1 }, { sparse: true });

/** The revocations in MongoDB; defines its model on the connection. */
export function createRevocationStore(connection: Connection): RevocationStore {
  const model = connection.model<RevocationDocument>('Revocation', schema, COLLECTION);
  return {
    collection: COLLECTION,
    async put({ kind, id, epoch, expiresAt }) {
      const document = await model
        .findOneAndUpdate(
          { _id: `${kind}:${id}` },
          {
            $set: { kind, ref: id, pending: 1 },
            $max: { epoch: epoch ?? null, expires_at: expiresAt },
            $currentDate: { updated_at: true },
            $inc: { revision: 1 },
          },
          { upsert: true, returnDocument: 'after' },
        )
        .lean();
      return stored(document as RevocationDocument);
    },
    async pending() {
      const documents = await model.find({ pending: 1 }).sort({ pending: 1 }).limit(BATCH).lean();
      return documents.map(stored);
    },
    async announced({ kind, id, revision }) {
      await model.updateOne({ _id: `${kind}:${id}`, revision }, { $unset: { pending: 1 } });
    },
    async since(time) {
      const documents = await model
        .find({
          ...(time === undefined ? {} : { updated_at: { $gte: time } }),
          expires_at: { $gt: new Date() },
        })
        .lean();
      return documents.map(stored);
    },
  };
}

function stored({
  kind,
  ref,
  epoch,
  expires_at,
  updated_at,
  revision,
}: RevocationDocument): StoredRevocation {
  return { kind, id: ref, epoch: epoch ?? undefined, expiresAt: expires_at, updatedAt: updated_at, revision };
}
