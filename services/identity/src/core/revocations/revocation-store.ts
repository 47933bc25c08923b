import { type Connection, type InferSchemaType, Schema } from 'mongoose';

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
  /** Of what is stored and what is put, keeps the higher epoch and the later expiry. Durable when it resolves. */
  put(entry: Omit<StoredRevocation, 'updatedAt' | 'revision'>): Promise<StoredRevocation>;
  /** Those that have not been announced since they were written, at most a few hundred. */
  pending(): Promise<StoredRevocation[]>;
  announced(entry: StoredRevocation): Promise<void>;
  /** Tokens are being issued that have expired at this time. */
  issuingUntil(time: Date): Promise<void>;
  /** The latest time that a replica has given to issuingUntil(), whether it still runs or not. */
  lastExpiry(): Promise<Date | undefined>;
  /** The next unexpired ones in the order in which they were written last: from a time on, after another, or all. */
  page(query: {
    from?: Date;
    after?: Pick<StoredRevocation, 'kind' | 'id' | 'updatedAt'>;
    limit: number;
  }): Promise<StoredRevocation[]>;
  /** When one was written last; undefined when there is none. */
  lastUpdate(): Promise<Date | undefined>;
};

const COLLECTION = 'revocations';
const BATCH = 500;

/** One document for each thing that is revoked. */
const schema = new Schema(
  {
    _id: { type: String, required: true },
    kind: { type: String, required: true },
    ref: { type: String, required: true },
    epoch: { type: Number, default: null },
    /** When the last token it can affect has expired. */
    expires_at: { type: Date, required: true },
    /** By the database's clock, which all replicas share. */
    updated_at: { type: Date, required: true },
    /** Counts the writes, so that announcing an earlier one does not pass for announcing a later one. */
    revision: { type: Number, required: true },
    /** 1 until it has been announced. */
    pending: { type: Number },
  },
  { versionKey: false, strict: 'throw' },
);
type RevocationDocument = InferSchemaType<typeof schema>;
schema.index({ expires_at: 1 });
schema.index({ updated_at: 1, _id: 1 });
schema.index({ pending: 1 }, { sparse: true });

/** A single document. */
const issued = new Schema(
  { _id: { type: String, required: true }, last_expiry: { type: Date, required: true } },
  { versionKey: false, strict: 'throw' },
);
const ISSUED_ID = 'access_tokens';

/** The revocations in MongoDB; defines its models on the connection. */
export function createRevocationStore(connection: Connection): RevocationStore {
  const model = connection.model<RevocationDocument>('Revocation', schema, COLLECTION);
  const issuedTokens = connection.model('IssuedTokens', issued, 'issued_tokens');
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
    async issuingUntil(time) {
      await issuedTokens.updateOne({ _id: ISSUED_ID }, { $max: { last_expiry: time } }, { upsert: true });
    },
    async lastExpiry() {
      return (await issuedTokens.findById(ISSUED_ID).lean())?.last_expiry;
    },
    async page({ from, after, limit }) {
      const documents = await model
        .find({
          ...(from === undefined ? {} : { updated_at: { $gte: from } }),
          ...(after === undefined ? {} : laterThan(after)),
          expires_at: { $gt: new Date() },
        })
        .sort({ updated_at: 1, _id: 1 })
        .limit(limit)
        .lean();
      return documents.map(stored);
    },
    async lastUpdate() {
      const last = await model.findOne({}, { updated_at: 1 }).sort({ updated_at: -1, _id: -1 }).lean();
      return last?.updated_at;
    },
  };
}

function laterThan({ kind, id, updatedAt }: Pick<StoredRevocation, 'kind' | 'id' | 'updatedAt'>) {
  return {
    $or: [{ updated_at: { $gt: updatedAt } }, { updated_at: updatedAt, _id: { $gt: `${kind}:${id}` } }],
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
